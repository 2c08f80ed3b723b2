import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HELLO, startChat } from '../support/client.ts';
import { redeem } from '../support/control.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { bearer, HAS_IPV6_LOOPBACK, send } from '../support/http.ts';
import { listening } from '../support/listening.ts';
import { sayHere } from '../support/owned-gateway.ts';
import { runCli, startCli } from '../support/process.ts';
import {
  chunk,
  DONE,
  hang,
  REFUSED_URL,
  ROLE,
  stall,
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { openWire } from '../support/wire.ts';

const BASE_URL = /Base URL for your apps: (\S+)/;
const LINK = /Dashboard: (\S+)/;
const UNCONFIGURED = 'Nothing is configured yet';

/** A gateway as a process of its own, on a free port. */
async function startHeadless(settings: Record<string, string> = {}) {
  const { DATA_DIR: directory = temporaryDirectory() } = settings;
  const cli = startCli({ PORT: '0', ...settings, DATA_DIR: directory });
  const link = await cli.printed(LINK);
  return { cli, directory, link, url: new URL(link).origin, baseUrl: await cli.printed(BASE_URL) };
}

const filesOf = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(directory, name),
  );

test('the program prints a base URL and a link that gives control, "open" prints another, and SIGTERM ends it', async () => {
  // An agent that is off uses no engine.
  const { cli, directory, link, url, baseUrl } = await startHeadless({ ENGINE_URL: REFUSED_URL });
  for (const file of process.platform === 'win32' ? [] : filesOf(directory))
    expect([file, statSync(file).mode & 0o077]).toEqual([file, 0]);
  expect((await send(`${baseUrl}/models`)).status).toBe(200);
  const statusAt = async (origin: string, token = '') =>
    (await send(`${origin}/api/v1/settings`, { headers: bearer(token) })).status;
  const { token = '' } = await redeem(link);
  expect(await statusAt(url, token)).toBe(200);
  const opened = await sayHere({ DATA_DIR: directory }, 'open');
  expect([opened.code, opened.stderr]).toEqual([0, '']);
  expect(opened.stdout).toMatch(new RegExp(`^${url}/#code=[0-9a-f]{64}\\n$`));
  expect(await statusAt(url, (await redeem(opened.stdout.trim())).token)).toBe(200);
  expect((await redeem(opened.stdout.trim())).status).toBe(401);
  expect(existsSync(join(directory, 'running.json'))).toBe(true);

  cli.kill('SIGTERM');
  const { code, stdout, stderr } = await cli.ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(UNCONFIGURED);
  expect(existsSync(join(directory, 'running.json'))).toBe(false);
  expect(cli.isAlive()).toBe(false);
  await expect(send(`${url}/healthz`)).rejects.toThrow(/ECONNREFUSED/);

  // The session of one run counts in the next, its token is in no file, and the control token stays.
  const next = await startHeadless({ DATA_DIR: directory });
  expect(await statusAt(next.url, token)).toBe(200);
  const files = filesOf(directory).filter((path) => statSync(path).isFile());
  for (const path of files) expect(readFileSync(path, 'latin1')).not.toContain(token);
  expect((await sayHere({ DATA_DIR: directory }, 'open')).code).toBe(0);
});

test('a start with a bad settings file, an unknown variable and an open directory warns, and SIGINT ends it though connections are idle and a dashboard is open', async () => {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'settings.json'), '{"circuit":{"failThreshold":0}}');
  // Of a start that was killed.
  writeFileSync(join(directory, 'control-token.new'), 'half of a');
  // With an engine it is configured.
  const agentOfEngine = { AGENT: 'true', AGENT_PORTS: '0', ENGINE_URL: REFUSED_URL };
  const settings = { DATA_DIR: directory, FAIL_TRESHOLD: '7', ...agentOfEngine };
  const { cli, url } = await startHeadless(settings);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const get = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request(url + path, { agent }, resolve)
        .on('error', reject)
        .end();
    });
  const events = await get('/api/v1/events');
  (await get('/healthz')).resume();
  const silent = await openWire(url);
  events.resume().on('error', () => {});
  // Printed last of all.
  await cli.printed(/(\(this sign-in link works once)/);
  expect((await sayHere({ DATA_DIR: directory }, 'doctor')).stdout).toContain('was set aside as');
  cli.kill('SIGINT');
  const { code, stdout, stderr } = await cli.ended;
  expect(await silent.closed).toBe('');
  expect(code).toBe(0);
  expect(stdout).not.toContain(UNCONFIGURED);
  const open = `Warning: Other users can open the data directory ${directory} (mode 755); "chmod 700 ${directory}" makes it private.`;
  expect(stderr.trimEnd().split('\n')).toEqual([
    ...(process.platform === 'win32' ? [] : [open]),
    expect.stringMatching(
      /^Warning: circuit\.failThreshold in settings\.json was set aside as settings\.json\.bad-/,
    ),
    expect.stringMatching(/^Warning: INGLENOOK_FAIL_TRESHOLD is not a setting/),
  ]);
  const kept = readdirSync(directory).filter((name) => name.startsWith('settings.json'));
  expect(kept).toEqual(['settings.json', expect.stringMatching(/^settings\.json\.bad-2/)]);
  expect(readFileSync(join(directory, 'control-token'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  // Whoever chose the directory may have meant it.
  expect(statSync(directory).mode & 0o777).not.toBe(0o700);
});

test('a running stream may finish after SIGTERM, while new requests are refused', async () => {
  const upstream = await startUpstream(stall(ROLE, chunk({ content: 'a' })));
  const { cli, url } = await startHeadless({ HOSTED_A_BASE_URL: upstream.url });
  const pending = startChat(url, { ...HELLO, stream: true });
  await pending.received('"a"');
  // A request of which the gateway has only the beginning: its connection is open at the stop.
  const early = await openWire(url);
  early.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
  await send(`${url}/healthz`);

  cli.kill('SIGTERM');
  await cli.printed(/Stopping: running requests have up to 30 s/);
  await expect
    .poll(() => send(`${url}/healthz`).catch((error: Error) => error.message))
    .toMatch(/ECONNREFUSED/);
  expect(await early.closed).toBe('');
  const { res } = await upstream.call(1);
  res.end(chunk({ content: 'b' }) + STOP + DONE);
  const { text } = await pending.answer;
  expect(text).toContain('"b"');
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  const { code, stdout, stderr } = await cli.ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toContain(UNCONFIGURED);
});

test('a second signal ends a running request at once', async () => {
  const upstream = await startUpstream(hang);
  const { cli, url } = await startHeadless({ HOSTED_A_BASE_URL: upstream.url });
  const pending = startChat(url);
  const { gone } = await upstream.call(1);
  cli.kill('SIGTERM');
  await cli.printed(/a second signal stops immediately/);
  cli.kill('SIGTERM');
  expect(await cli.ended).toMatchObject({ code: 143, stderr: '' });
  await expect(pending.answer).rejects.toThrow(/hang up|ECONNRESET|aborted/);
  await gone;
  expect(cli.isAlive()).toBe(false);
});

test('a bad setting ends the start with code 1 and one line that names the variable', async () => {
  const directory = join(temporaryDirectory(), 'data');
  const settings = { DATA_DIR: directory, PORT: 'eighty', HOSTED_A_API_KEY: 'hunter2 hunter2' };
  const { code, stdout, stderr } = await runCli(settings);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^INGLENOOK_HOSTED_A_API_KEY is "…" but must be visible ASCII/),
    expect.stringMatching(/^INGLENOOK_PORT is "eighty" but must be a whole number from 0 to/),
  ]);
  expect(existsSync(directory)).toBe(false);
});

test('a port that is taken on the second loopback address ends the start with code 1 and says so, in the log too', async () => {
  const host = HAS_IPV6_LOOPBACK ? '::1' : '127.0.0.1';
  const port = await listening(createServer(), host);
  const directory = temporaryDirectory();
  const { code, stdout, stderr } = await runCli({ DATA_DIR: directory, PORT: String(port) });
  expect([code, stdout]).toEqual([1, '']);
  const why = `Port ${port} on ${host} is taken by another program, perhaps another Inglenook; stop that one or choose another port.`;
  expect(stderr).toBe(
    `Warning: ${why} Waiting up to 5 s for it.\n${why} Set it with INGLENOOK_PORT.\n`,
  );
  expect(existsSync(join(directory, 'running.json'))).toBe(false);
  // launchd and Windows keep no standard error of a service.
  const { stdout: logged } = await sayHere({ DATA_DIR: directory }, 'logs');
  expect(logged).toMatch(new RegExp(`error not_started why=.*Port ${port} `));
});
