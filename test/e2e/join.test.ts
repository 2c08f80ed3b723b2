import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readControlToken } from '../../main/platform/secrets.ts';
import { startGateway, temporaryDirectory } from '../support/gateway.ts';
import { bearer, OUTER_ADDRESS, postJson } from '../support/http.ts';
import { listening } from '../support/listening.ts';
import { sayHere, startStandIn } from '../support/owned-gateway.ts';
import { runCli } from '../support/process.ts';

const NO_TOKEN = 'b'.repeat(64);

/** A gateway that hands out lines to join it. */
async function startJoinable(settings: Readonly<Record<string, string>> = {}) {
  const { url, dataDirectory } = await startGateway(settings);
  const control = bearer(readControlToken(dataDirectory) ?? '');
  return {
    url,
    async newToken() {
      const answer = await postJson(`${url}/api/v1/providers/enrollments`, {}, control);
      expect(answer.status).toBe(201);
      return (JSON.parse(answer.text) as { token: string }).token;
    },
  };
}

/** The file in which the agent finds where it is enrolled. */
const enrolment = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'agent.json'), 'utf8')) as Record<string, unknown>;

test('join enrols this machine, keeps that for the agent, and says what comes next', async () => {
  const gateway = await startJoinable();
  const directory = join(temporaryDirectory(), 'data');
  const token = await gateway.newToken();
  const { code, stdout, stderr } = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    gateway.url,
    token,
  );
  expect([code, stderr]).toEqual([0, '']);
  const { id, registryUrl, gatewayToken } = enrolment(directory);
  expect(registryUrl).toBe(gateway.url);
  expect(stdout).toContain(`Joined the gateway at ${gateway.url} as ${String(id)}`);
  expect(stdout).toContain('"inglenook start"');
  expect(stdout).toContain('"inglenook doctor"');
  expect(stdout).not.toContain(token);
  expect(stdout).not.toContain(String(gatewayToken));
  // The gateway is on this machine: loopback is where it finds the agent.
  expect(existsSync(join(directory, 'settings.json'))).toBe(false);
  for (const file of readdirSync(directory)) {
    expect([file, statSync(join(directory, file)).mode & 0o077]).toEqual([file, 0]);
  }
});

test('join goes to the next gateway of a line where the first is silent', async () => {
  const gateway = await startJoinable();
  const silent = createServer();
  const first = `http://127.0.0.1:${await listening(silent)}`;
  const directory = temporaryDirectory();
  const joined = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    `http://127.0.0.1:1,${first},${gateway.url}`,
    await gateway.newToken(),
  );
  expect([joined.code, joined.stderr]).toEqual([0, '']);
  expect(joined.stdout).toContain(`Joined the gateway at ${gateway.url} as `);
  expect(enrolment(directory)['registryUrl']).toBe(gateway.url);
});

test('join warns of ports at which that gateway does not look, on this machine too', async () => {
  const gateway = await startJoinable();
  const { code, stdout } = await sayHere(
    { DATA_DIR: temporaryDirectory(), AGENT: 'true', AGENT_PORTS: '4000' },
    'join',
    gateway.url,
    await gateway.newToken(),
  );
  expect(code).toBe(0);
  expect(stdout).toContain('checks only the ports 3001 and 47901');
});

test('join reports a data directory that cannot be made before the token is used up', async () => {
  const gateway = await startJoinable();
  const token = await gateway.newToken();
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  // It ends the process.
  const failed = await runCli({ DATA_DIR: join(file, 'x') }, 'join', gateway.url, token);
  expect([failed.code, failed.stderr]).toEqual([
    1,
    expect.stringMatching(/data directory .* cannot be used \(ENOTDIR\)/),
  ]);
  const settings = { DATA_DIR: temporaryDirectory() };
  expect((await sayHere(settings, 'join', gateway.url, token)).code).toBe(0);
});

test('a join command works once, and a second machine learns to ask for another', async () => {
  const gateway = await startJoinable();
  const token = await gateway.newToken();
  await sayHere({ DATA_DIR: temporaryDirectory(), AGENT: 'true' }, 'join', gateway.url, token);
  const directory = temporaryDirectory();
  const { code, stderr } = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    gateway.url,
    token,
  );
  expect(code).toBe(1);
  expect(stderr).toContain(`Not joined to ${gateway.url}`);
  expect(stderr).toMatch(/Ask the owner of the gateway for a new join command/);
  expect(existsSync(join(directory, 'agent.json'))).toBe(false);
});

test('a second join with a new join command keeps the identity', async () => {
  const gateway = await startJoinable();
  const directory = temporaryDirectory();
  const rejoin = async () =>
    sayHere({ DATA_DIR: directory, AGENT: 'true' }, 'join', gateway.url, await gateway.newToken());
  await rejoin();
  const first = enrolment(directory);
  expect((await rejoin()).code).toBe(0);
  const second = enrolment(directory);
  expect(second['id']).toBe(first['id']);
  expect(second['gatewayToken']).not.toBe(first['gatewayToken']);
});

test.each([
  ['an address without a scheme', '192.168.1.10:47900', NO_TOKEN, /http:\/\/192\.168\.1\.10:47900/],
  ['an address with a path', 'http://127.0.0.1:1/v1', NO_TOKEN, /without a path/],
  ['another protocol', 'ftp://127.0.0.1', NO_TOKEN, /http or https/],
  ['a token that was cut', 'http://127.0.0.1:1', 'abc', /64 hex digits/],
])('%s is a wrong command line for join, and nothing is written', async (_, url, token, words) => {
  const directory = join(temporaryDirectory(), 'data');
  const settings = { DATA_DIR: directory, AGENT: 'true' };
  const { code, stdout, stderr } = await sayHere(settings, 'join', url, token);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(words);
  expect(existsSync(directory)).toBe(false);
});

test('a gateway that does not run is reported by join with what to do, and nothing is written', async () => {
  const directory = join(temporaryDirectory(), 'data');
  const { code, stdout, stderr } = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    'http://127.0.0.1:1',
    NO_TOKEN,
  );
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/nothing listens on that port/);
  expect(existsSync(directory)).toBe(false);
});

test('a server that is no gateway does not get to keep the machine', async () => {
  const server = createServer((_req, res) => void res.end('<html>hello</html>'));
  const url = `http://127.0.0.1:${await listening(server)}`;
  const directory = temporaryDirectory();
  const { code, stderr } = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    url,
    NO_TOKEN,
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/not an Inglenook gateway/);
  expect(existsSync(join(directory, 'agent.json'))).toBe(false);
});

test('join does not overrule a setting that names another gateway', async () => {
  const settings = { DATA_DIR: temporaryDirectory(), REGISTRY_URL: 'http://10.0.0.1:47900' };
  const { code, stderr } = await sayHere(settings, 'join', 'http://127.0.0.1:1', NO_TOKEN);
  expect(code).toBe(1);
  expect(stderr).toContain('INGLENOOK_REGISTRY_URL');
});

test.runIf(OUTER_ADDRESS !== undefined)(
  'plain HTTP beyond this machine needs --yes, and the agent then listens where the gateway finds it',
  async () => {
    const gateway = await startJoinable({
      HOST: OUTER_ADDRESS ?? '',
      API_KEYS: 'a-key-of-my-own-0123456789',
    });
    const directory = temporaryDirectory();
    const token = await gateway.newToken();
    const { port } = new URL(gateway.url);
    const url = `http://${OUTER_ADDRESS}:${port}`;
    const refused = await sayHere({ DATA_DIR: directory, AGENT: 'true' }, 'join', url, token);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/plain HTTP/);
    expect(refused.stderr).toMatch(/--yes/);
    expect(existsSync(join(directory, 'agent.json'))).toBe(false);
    // The token was not used up by asking.
    const joined = await sayHere(
      { DATA_DIR: directory, AGENT: 'true', AGENT_PORTS: '4000' },
      'join',
      '--yes',
      url,
      token,
    );
    expect([joined.code, joined.stderr]).toEqual([0, '']);
    expect(joined.stdout).toContain(`The agent listens on ${OUTER_ADDRESS}`);
    expect(joined.stdout).toContain('checks only the ports 3001 and 47901');
    expect(JSON.parse(readFileSync(join(directory, 'settings.json'), 'utf8'))).toEqual({
      agent: { host: OUTER_ADDRESS },
    });
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
  const { code, stdout, stderr } = await sayHere(
    { DATA_DIR: directory, AGENT: 'true' },
    'join',
    url,
    NO_TOKEN,
  );
  expect([code, stderr]).toEqual([0, '']);
  expect(asked).toEqual([
    ['POST', '/api/v1/agent/join', `Bearer ${controlToken}`, { url, token: NO_TOKEN }],
  ]);
  expect(stdout).toMatch(
    /gateway at http:\S+ as prv_1\.\nMind the gap\.\nThe Inglenook running here now reports to that gateway/,
  );
  expect(existsSync(join(directory, 'agent.json'))).toBe(false);
});
