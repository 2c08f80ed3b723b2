import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startWire } from '../../registry/wire.ts';
import {
  hearingRegistry,
  startAgent,
  startModelServer,
  startServing,
  turn,
  until,
} from '../../support/agent.ts';
import { createManualClock } from '../../support/clock.ts';
import { postJson } from '../../support/http.ts';
import { listening } from '../../support/listening.ts';
import { completion, json } from '../../support/upstream.ts';

const TOKEN = 'c'.repeat(64);

interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly json: Record<string, unknown>;
}

/** A server that answers the messages of an agent as a test wants: enrolments well, unless it says else. */
async function scriptedRegistry(answer: (told: Call, res: ServerResponse) => void): Promise<{
  readonly url: string;
  readonly beats: Call[];
  readonly enrolled: Call[];
}> {
  const beats: Call[] = [];
  const enrolled: Call[] = [];
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Call['json'];
      const told = { path: req.url ?? '', headers: req.headers, json: body };
      if (told.path.endsWith('/heartbeat')) {
        beats.push(told);
        answer(told, res);
        return;
      }
      enrolled.push(told);
      const id = /keyid="(\w+)"/.exec(String(req.headers['signature-input']))?.[1];
      res.end(JSON.stringify({ id, gateway_token: TOKEN, heartbeat_ms: 15_000 }));
    });
  });
  const port = await listening(server);
  return { url: `http://127.0.0.1:${port}`, beats, enrolled };
}

const ACCEPTED = {
  id: 'x',
  status: 'idle',
  verification: { status: 'pending', routable: false, failure_reason: '' },
};
const accept = (_told: Call, res: ServerResponse) =>
  void res.end(JSON.stringify({ ...ACCEPTED, heartbeat_ms: 15_000 }));

const refuse =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  (_told: Call, res: ServerResponse) =>
    void res
      .writeHead(status, headers)
      .end(JSON.stringify({ error: { message: `no: ${code}`, type: 't', code, param: null } }));

test('a machine joins a real registry, says goodbye, and is heard after a restart with a clock that was set back', async () => {
  const clock = createManualClock();
  const wire = await startWire({ clock });
  const { agent, directory, stop } = await startAgent({ clock });
  const line = { url: wire.url, others: [], token: await wire.newToken() };
  expect(await agent.join(line)).toEqual({ kind: 'joined', url: wire.url, warning: null });
  await until(() => agent.view().registry.state === 'connected');
  const { id } = agent.view();
  expect(wire.registry.get(id)).toMatchObject({ region: 'attic', agent_version: '1.2.3' });
  await stop();
  expect(wire.registry.get(id)?.status).toBe('offline');
  const earlier = { ...clock, now: () => clock.now() - 60_000 };
  const second = await startAgent({ clock: earlier, dataDirectory: directory });
  await until(() => second.agent.view().registry.state === 'connected');
  expect(second.agent.view()).toMatchObject({ id, registry: { problem: null } });
  expect(wire.registry.get(id)?.heartbeat_count).toBe(3);
});

test('a machine that joins sends no heartbeat before it listens for its gateway', async () => {
  const registry = await scriptedRegistry(accept);
  const listened: unknown[] = [];
  const { agent } = await startAgent({
    async listenFor(url) {
      for (let turns = 0; turns < 50; turns += 1) await turn();
      listened.push([url, registry.beats.length]);
      return 'It could not.';
    },
  });
  const joined = await agent.join({ url: registry.url, others: [], token: TOKEN });
  expect(joined).toMatchObject({ kind: 'joined', warning: 'It could not.' });
  await until(() => registry.beats.length > 0);
  expect(listened).toEqual([[registry.url, 0]]);
});

test('a token from the settings is used once, over restarts too', async () => {
  const registry = await scriptedRegistry(accept);
  const given = { registryUrl: registry.url, enrollToken: TOKEN };
  const first = await startAgent(given);
  await until(() => registry.beats.length > 0);
  await first.stop();
  const second = await startAgent({ ...given, dataDirectory: first.directory });
  await until(() => second.agent.view().registry.state === 'connected');
  expect(registry.enrolled).toHaveLength(1);
});

const cases: readonly (readonly [string, (told: Call, res: ServerResponse) => void])[] = [
  ['answers 401', refuse(401, 'invalid_signature')],
  ['answers 429', refuse(429, 'slow_down', { 'retry-after': '3' })],
  ['answers 500', (_told, res) => void res.writeHead(500).end('<h1>oops</h1>')],
  ['answers garbage', (_told, res) => void res.end('\u0000\u0001 hello')],
  ['answers without end', (_told, res) => void res.write('x'.repeat(100_000))],
  ['redirects', (_told, res) => void res.writeHead(302, { location: 'http://x.test' }).end()],
  ['breaks off', (_told, res) => void res.destroy()],
];
test.each(cases)('a registry that %s does not disturb serving', async (_what, answer) => {
  const registry = await scriptedRegistry(answer);
  const engine = await startModelServer(json(200, completion('still here')));
  const { agent, url } = await startServing(engine, {
    registryUrl: registry.url,
    enrollToken: TOKEN,
  });
  await until(() => agent.view().registry.state === 'failing');
  const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  expect((await postJson(`${url}/v1/chat/completions`, ask)).status).toBe(200);
  expect(agent.view().problems.some(({ tool }) => tool === 'registry')).toBe(true);
});

test('the agent gives up a registry that never answers after 10 s, and at a stop after 1 s', async () => {
  const registry = await scriptedRegistry(() => {});
  const { agent, clock } = await startAgent({ registryUrl: registry.url, enrollToken: TOKEN });
  await until(() => registry.beats.length === 1);
  clock.advance(10_000);
  await until(() => agent.view().registry.state === 'failing');
  const stopped = agent.stop(0);
  await until(() => registry.beats.length === 2);
  clock.advance(1000);
  await stopped;
  expect(registry.beats[1]?.json['status']).toBe('offline');
});

test('a registry that does not know the machine is asked once a minute, and the owner sees what to do', async () => {
  const registry = await scriptedRegistry(refuse(401, 'unknown_provider'));
  const { agent, clock } = await startAgent({ registryUrl: registry.url, enrollToken: TOKEN });
  await until(() => agent.view().registry.state === 'failing');
  expect(agent.view().registry.problem?.remedy).toContain('Join it again');
  clock.advance(59_000);
  await turn();
  expect(registry.beats).toHaveLength(1);
  clock.advance(1000);
  await until(() => registry.beats.length === 2);
});

test('a machine whose clock was set far back adopts the time and the number of the registry, and reports the difference', async () => {
  const now = Date.UTC(2027, 0, 1);
  const registry = await scriptedRegistry((told, res) => {
    const { headers } = told;
    const created = Number(/created=(\d+)/.exec(String(headers['signature-input']))?.[1]);
    const isOff = Math.abs(created - now / 1000) > 120;
    if (isOff) refuse(401, 'clock_skew', { date: new Date(now).toUTCString() })(told, res);
    else if (Number(headers['x-gateway-sequence']) > now) accept(told, res);
    else refuse(403, 'sequence_reused', { 'x-gateway-sequence': `${now}` })(told, res);
  });
  const { agent } = await startAgent({ registryUrl: registry.url, enrollToken: TOKEN });
  await until(() => agent.view().registry.state === 'connected');
  expect(agent.view().problems.some(({ tool }) => tool === 'clock')).toBe(true);
});

test('a heartbeat comes 250 ms after a change, and one covers many changes', async () => {
  const ownRegistry = hearingRegistry();
  const { agent, clock } = await startAgent({ ownRegistry });
  await until(() => ownRegistry.statuses.length === 1);
  clock.advance(5000);
  for (const choice of ['paused', 'on', 'paused'] as const) await agent.setMode(choice);
  clock.advance(249);
  await turn();
  expect(ownRegistry.statuses).toHaveLength(1);
  clock.advance(1);
  await until(() => ownRegistry.statuses.length === 2);
  expect(ownRegistry.statuses[1]).toBe('paused');
});

test('a heartbeat comes at once after a suspend', async () => {
  const ownRegistry = hearingRegistry();
  const { agent, clock } = await startAgent({ ownRegistry });
  await until(() => ownRegistry.statuses.length === 1);
  clock.advance(5000);
  agent.resumed();
  await until(() => ownRegistry.statuses.length > 1);
  expect(ownRegistry.statuses).toHaveLength(2);
});
