import { expect, test } from 'vitest';
import { startModelServer } from '../support/agent.ts';
import { startControlled } from '../support/control.ts';
import { postJson, send } from '../support/http.ts';
import { answers } from '../support/upstream.ts';

const start = () => startControlled({ AGENT: 'true', AGENT_PORTS: '0' });

test('another engine URL takes effect at once: the agent forgets the former engine and asks it no more', async () => {
  const [first, second] = [await startModelServer(), await startModelServer(answers('second'))];
  const gateway = await start();
  const served = async () => (await gateway.agent()).engine;
  await gateway.set({ agent: { engineUrl: first.url } });
  await expect.poll(served).toMatchObject({ baseUrl: first.url, health: { status: 'ok' } });
  await gateway.set({ agent: { engineUrl: second.url } });
  await expect.poll(served).toMatchObject({ baseUrl: second.url, health: { status: 'ok' } });
  const view = await gateway.agent();
  expect(view.engines.map(({ baseUrl }) => baseUrl)).toEqual([second.url]);
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  const answer = await postJson(`${view.server.url}/v1/chat/completions`, body);
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('second')]);
  expect(first.calls).toEqual([]);
});

test('another gateway to report to takes effect at once with its token, as after a restart', async () => {
  const other = await startControlled({});
  const gateway = await start();
  const standing = async () => (await gateway.agent()).registry;
  await expect.poll(standing).toMatchObject({ kind: 'own', state: 'connected' });
  await gateway.set({ agent: { registryUrl: other.url, enrollToken: await other.joinToken() } });
  await expect
    .poll(standing)
    .toMatchObject({ kind: 'joined', url: other.url, state: 'connected', problem: null });
  await gateway.set({ agent: { registryUrl: 'http://127.0.0.1:1', enrollToken: null } });
  await expect.poll(standing).toMatchObject({ kind: 'none', state: 'not_enrolled' });
  // What was kept of the other gateway holds again, as it would at a start.
  await gateway.set({ agent: { registryUrl: null } });
  await expect.poll(standing).toMatchObject({ kind: 'joined', url: other.url, state: 'connected' });
});

test('a smaller limit of requests applies to the agent too', async () => {
  const engine = await startModelServer(answers('hi'));
  const gateway = await start();
  await gateway.set({ agent: { engineUrl: engine.url }, gateway: { maxBodyBytes: 100 } });
  const { server } = await gateway.agent();
  const body = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(100) }] };
  const answer = await postJson(`${server.url}/v1/chat/completions`, body);
  expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('100 bytes')]);
});

test('other ports take effect at once', async () => {
  const gateway = await startControlled({ AGENT: 'true', AGENT_HOST: '127.0.0.1' });
  await gateway.set({ agent: { ports: [0] } });
  const { server } = await gateway.agent();
  expect(server.ports).toHaveLength(1);
  expect((await send(`${server.url}/health`)).status).toBe(200);
});

test('a setting that takes a restart says so, and no other does', async () => {
  const gateway = await startControlled({});
  const settings = await gateway.set({ gateway: { logLevel: 'warn' }, local: { timeoutMs: 1 } });
  const waiting = Object.entries(settings).flatMap(([section, keys]) =>
    Object.entries(keys).flatMap(([key, { restart }]) => (restart ? [`${section}.${key}`] : [])),
  );
  expect(waiting).toEqual([
    'agent.enabled',
    'gateway.host',
    'gateway.port',
    'gateway.databaseUrl',
    'gateway.poolSecret',
    'gateway.logLevel',
    'gateway.logTo',
    'gateway.logFormat',
  ]);
  expect(await gateway.settings()).toEqual(settings);
});
