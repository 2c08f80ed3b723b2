import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startControlled } from '../support/control.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { OUTER_ADDRESS } from '../support/http.ts';
import { sayHere, startOwned, startStandIn } from '../support/owned-gateway.ts';
import { runCli } from '../support/process.ts';

const NO_TOKEN = 'b'.repeat(64);
const KEY = 'a-key-of-my-own-0123456789';

/** Runs `join` in this data directory. */
const sayJoin = (DATA_DIR: string, args: readonly string[], more: Record<string, string> = {}) =>
  sayHere({ DATA_DIR, AGENT: 'true', ...more }, 'join', ...args);

/** The file in which the agent finds where it is enrolled. */
const enrolment = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'agent.json'), 'utf8')) as Record<string, unknown>;

test('join enrols this machine, says what comes next, keeps the identity when repeated, and takes a token once', async () => {
  const { url, joinToken } = await startControlled({});
  const directory = join(temporaryDirectory(), 'data');
  const token = await joinToken();
  // Nobody listens at the first address.
  const first = await sayJoin(directory, [`http://127.0.0.1:1,${url}`, token]);
  expect([first.code, first.stderr]).toEqual([0, '']);
  const { id, registryUrl, gatewayToken } = enrolment(directory);
  expect(registryUrl).toBe(url);
  expect(first.stdout).toContain(`Joined the gateway at ${url} as ${String(id)}`);
  for (const next of ['"inglenook start"', '"inglenook doctor"'])
    expect(first.stdout).toContain(next);
  for (const secret of [token, String(gatewayToken)]) expect(first.stdout).not.toContain(secret);
  // The gateway is on this machine: loopback is where it finds the agent.
  expect(existsSync(join(directory, 'settings.json'))).toBe(false);
  for (const file of readdirSync(directory))
    expect([file, statSync(join(directory, file)).mode & 0o077]).toEqual([file, 0]);

  const again = await sayJoin(directory, [url, await joinToken()], { AGENT_PORTS: '4000' });
  const said = [again.code, again.stdout];
  expect(said).toEqual([0, expect.stringContaining('checks only the ports 3001 and 47901')]);
  expect(enrolment(directory)['id']).toBe(id);
  expect(enrolment(directory)['gatewayToken']).not.toBe(gatewayToken);

  const other = temporaryDirectory();
  writeFileSync(join(other, 'settings.json'), '{"circuit":5}');
  const refused = await sayJoin(other, [url, token]);
  expect(refused.stderr).toContain('was set aside as settings.json.bad-');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`Not joined to ${url}`);
  expect(refused.stderr).toMatch(/Ask the owner of the gateway for a new join command/);
  expect(existsSync(join(other, 'agent.json'))).toBe(false);
});

test('join reports a data directory that cannot be made before the token is used up', async () => {
  const { url, joinToken } = await startControlled({});
  const token = await joinToken();
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  // It ends the process.
  const failed = await runCli({ DATA_DIR: join(file, 'x') }, 'join', url, token);
  expect([failed.code, failed.stderr]).toEqual([
    1,
    expect.stringMatching(/data directory .* cannot be used \(ENOTDIR\)/),
  ]);
  expect((await sayJoin(temporaryDirectory(), [url, token])).code).toBe(0);
});

test.each([
  [2, 'an address with a path', 'http://127.0.0.1:1/v1', NO_TOKEN, /without a path/],
  [2, 'another protocol', 'ftp://127.0.0.1', NO_TOKEN, /http or https/],
  [2, 'a token that was cut', 'http://127.0.0.1:1', 'abc', /64 hex digits/],
  [1, 'a gateway that is down', '127.0.0.1:1', NO_TOKEN, /nothing listens at 127\.0\.0\.1:1/],
])('join ends with exit code %d for %s, and writes nothing', async (exit, _, url, token, words) => {
  const directory = join(temporaryDirectory(), 'data');
  const { code, stdout, stderr } = await sayJoin(directory, [url, token]);
  expect([code, stdout]).toEqual([exit, '']);
  expect(stderr).toMatch(words);
  expect(existsSync(directory)).toBe(false);
});

test.runIf(OUTER_ADDRESS !== undefined)(
  'plain HTTP beyond this machine needs --yes, and the agent then listens where the gateway finds it',
  async () => {
    const gateway = await startControlled({ HOST: OUTER_ADDRESS ?? '', API_KEYS: KEY });
    const directory = temporaryDirectory();
    const token = await gateway.joinToken();
    const url = `http://${OUTER_ADDRESS}:${new URL(gateway.url).port}`;
    const refused = await sayJoin(directory, [url, token]);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/plain HTTP[^]*--yes/);
    expect(existsSync(join(directory, 'agent.json'))).toBe(false);
    // The token was not used up by asking.
    const joined = await sayJoin(directory, ['--yes', url, token], { AGENT_PORTS: '4000' });
    expect([joined.code, joined.stderr]).toEqual([0, '']);
    expect(joined.stdout).toContain(`The agent listens on ${OUTER_ADDRESS}`);
    expect(joined.stdout).toContain('checks only the ports 3001 and 47901');
    const saved = JSON.parse(readFileSync(join(directory, 'settings.json'), 'utf8')) as unknown;
    expect(saved).toEqual({ agent: { host: OUTER_ADDRESS } });
    const args = ['--yes', url, await gateway.joinToken()];
    const fixed = await sayJoin(temporaryDirectory(), args, { AGENT_HOST: '127.0.0.1' });
    expect(fixed.stdout).toMatch(/INGLENOOK_AGENT_HOST to \S+: as it is, the gateway cannot reach/);
  },
);

test.runIf(OUTER_ADDRESS !== undefined)(
  'an address that was set for the running Inglenook keeps its agent where that gateway cannot find it',
  async () => {
    const gateway = await startControlled({ HOST: OUTER_ADDRESS ?? '', API_KEYS: KEY });
    const own = { AGENT: 'true', AGENT_PORTS: '0', AGENT_HOST: '127.0.0.1' };
    const { dataDirectory } = await startOwned(own);
    const url = `http://${OUTER_ADDRESS}:${new URL(gateway.url).port}`;
    const joined = await sayJoin(dataDirectory, ['--yes', url, await gateway.joinToken()]);
    expect([joined.code, joined.stderr]).toEqual([0, '']);
    expect(joined.stdout).toMatch(/could not be set to listen on .*INGLENOOK_AGENT_HOST/);
    expect(joined.stdout).not.toContain('The agent listens on');
  },
);

test('an Inglenook that runs on this machine is asked to join by itself', async () => {
  const directory = join(temporaryDirectory(), 'data');
  mkdirSync(directory);
  const asked: unknown[] = [];
  const { url, controlToken } = await startStandIn(directory, (req, res) => {
    let body = '';
    req.on('data', (part) => (body += String(part)));
    req.on('end', () => {
      asked.push([req.method, req.url, req.headers.authorization, JSON.parse(body)]);
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ id: 'prv_1', url, warning: 'Mind the gap.' }));
    });
  });
  const { code, stdout, stderr } = await sayJoin(directory, [url, NO_TOKEN]);
  expect([code, stderr]).toEqual([0, '']);
  expect(asked).toEqual([
    ['POST', '/api/v1/agent/join', `Bearer ${controlToken}`, { line: `${url} ${NO_TOKEN}` }],
  ]);
  expect(stdout).toMatch(
    /gateway at http:\S+ as prv_1\.\nMind the gap\.\nThe Inglenook running here now reports to that gateway/,
  );
  expect(existsSync(join(directory, 'agent.json'))).toBe(false);
});
