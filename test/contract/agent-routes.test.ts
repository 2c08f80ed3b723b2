import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startControlled } from '../support/control.ts';
import { expectError, postJson, send } from '../support/http.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { startModelServer } from '../support/agent.ts';

const AGENT = '/api/v1/agent';
const NO_TOKEN = 'b'.repeat(64);
const AGENT_ON = { AGENT: 'true', AGENT_PORTS: '0', ENGINE_URL: 'http://127.0.0.1:1' };

/** A gateway with an agent on free ports, and a control session for both. */
async function started(settings: Readonly<Record<string, string>> = {}) {
  const gateway = await startControlled({ ...AGENT_ON, ...settings });
  return {
    ...gateway,
    post: (path: 'mode' | 'join' | 'leave', json: unknown) => gateway.post(`agent/${path}`, json),
    view: gateway.agent,
  };
}

/** Another gateway, which may give out tokens. */
const startOther = () => started({ AGENT: 'false' });

/** The secrets in the machine's files, which no answer may contain. */
function secretsIn(directory: string): readonly string[] {
  const texts = readdirSync(directory)
    .filter((name) => /^(agent\.json|agent-key\.pem|control-token|gateway-secret)$/.test(name))
    .map((name) => readFileSync(join(directory, name), 'utf8'));
  return texts.flatMap((text) => text.match(/[0-9a-f]{64}|[\w+/]{40,}={0,2}/g) ?? []);
}

test('the agent’s view shows what the machine is, where it listens and how it is', async () => {
  const gateway = await started({ REGION: 'attic' });
  const view = await gateway.view();
  const port = Number(new URL(view.server.url).port);
  expect(view).toMatchObject({
    id: expect.stringMatching(/^prv_[0-9a-f]{32}$/),
    owner: { choice: 'on', mode: 'on', reasons: [] },
    server: { host: '127.0.0.1', ports: [{ kind: 'listening', port }] },
    registry: { kind: 'own', url: null },
    record: { region: 'attic', agent_url: view.server.url },
    inFlight: 0,
  });
});

test('the agent’s view holds no secret, joined or not', async () => {
  const gateway = await started();
  const other = await startOther();
  const token = await other.joinToken();
  const texts = [JSON.stringify(await gateway.view())];
  const joined = await gateway.post('join', { url: other.url, token });
  expect(joined.status).toBe(200);
  texts.push(joined.text, JSON.stringify(await gateway.view()));
  const secrets = [token, ...secretsIn(gateway.dataDirectory), ...secretsIn(other.dataDirectory)];
  expect(secrets.length).toBeGreaterThan(4);
  for (const secret of secrets) expect(texts.join('\n')).not.toContain(secret);
});

test('each of the agent’s routes is a 409 that says how to switch it on while it is off', async () => {
  const gateway = await started({ AGENT: 'false' });
  const refused = [
    await send(gateway.url + AGENT),
    await gateway.post('mode', { mode: 'paused' }),
    await gateway.post('join', { url: 'http://127.0.0.1:1', token: NO_TOKEN }),
    await gateway.post('leave', {}),
  ];
  for (const answer of refused) {
    expect(expectError(answer, 409, 'agent_off')).toContain('INGLENOOK_AGENT');
  }
});

const NOWHERE = 'http://127.0.0.1:1';

test.each<[path: 'mode' | 'join', field: string, others: object, bad: readonly unknown[]]>([
  ['mode', 'mode', { MODE: 'paused' }, [undefined, null, 'off', ['on']]],
  [
    'join',
    'url',
    { token: NO_TOKEN },
    [undefined, 7, '', '127.0.0.1:1', 'file:///etc/passwd', `${NOWHERE}/v1`, [NOWHERE]],
  ],
  [
    'join',
    'token',
    { url: NOWHERE },
    [undefined, 7, '', 'abc', `${NO_TOKEN}0`, 'B'.repeat(64), [NO_TOKEN]],
  ],
  ['join', 'line', {}, ['', `inglenook join ${NOWHERE} abc`, `inglenook join ${NO_TOKEN}`]],
])(
  'the route %s answers a bad %s with a 400 that names the field, and nothing happens',
  async (path, field, others, bad) => {
    const gateway = await started();
    for (const value of bad) {
      const answer = await gateway.post(path, { ...others, [field]: value });
      const message = expectError(answer, 400, 'invalid_request', field);
      expect(message).toMatch(new RegExp(`^'${field}' must be .+\\.$`));
      expect(answer.text).not.toContain(NO_TOKEN);
    }
    const { owner, registry } = await gateway.view();
    expect([owner.choice, registry.kind]).toEqual(['on', 'own']);
  },
);

test.each([undefined, []])('the body %j is refused as a mode', async (body) => {
  const gateway = await started();
  expectError(await gateway.post('mode', body), 400, 'invalid_request', 'mode');
});

test('a join enrols this machine there, and leaving takes it back to its own gateway', async () => {
  const gateway = await started();
  const other = await startOther();
  const { id } = await gateway.view();
  const token = await other.joinToken();
  const joined = await gateway.post('join', { url: `${other.url}/`, token });
  const told = { id, url: other.url, warning: null };
  expect([joined.status, JSON.parse(joined.text)]).toEqual([200, told]);
  expect((await gateway.view()).registry).toMatchObject({ kind: 'joined', url: other.url });
  const left = await gateway.post('leave', {});
  expect(left.status).toBe(200);
  expect(JSON.parse(left.text)).toMatchObject({ id, registry: { kind: 'own', url: null } });
});

test('a join takes a pasted line as it is', async () => {
  const gateway = await started();
  const other = await startOther();
  const { url } = other;
  for (const [before, between] of [
    ['inglenook join ', ' '],
    // Nobody listens at the first.
    ['inglenook join http://127.0.0.1:1,', ' '],
    ['curl -fsS ', '/install | sh -s -- '],
    [' & ([scriptblock]::Create((irm ', '/install.ps1))) '],
  ] as const) {
    const line = `${before}${url}${between}${await other.joinToken()}\n`;
    const joined = await gateway.post('join', { line });
    expect([joined.status, joined.text]).toEqual([200, expect.stringContaining(url)]);
    await gateway.post('leave', {});
  }
});

test('a join that fails reports what happened and what to do, without the token', async () => {
  const gateway = await started();
  const other = await startOther();
  const { url: web } = await startUpstream(({ res }) => void res.end('<html>hello</html>'));
  for (const [url, words] of [
    [other.url, /new join command/],
    ['http://127.0.0.1:1', /Check that the gateway runs/],
    [web, /Check the address/],
  ] as const) {
    const answer = await gateway.post('join', { url, token: NO_TOKEN });
    const message = expectError(answer, 502, 'join_failed');
    expect(message.match(new RegExp(words, 'gi'))).toHaveLength(1);
    expect(answer.text).not.toContain(NO_TOKEN);
  }
  expect((await gateway.view()).registry.kind).toBe('own');
});

test('a join elsewhere than the settings say is refused with the name of the setting', async () => {
  const gateway = await started({ REGISTRY_URL: 'http://127.0.0.1:1' });
  const answer = await gateway.post('join', { url: 'http://127.0.0.1:2', token: NO_TOKEN });
  expect(expectError(answer, 502, 'join_failed')).toContain('INGLENOOK_REGISTRY_URL');
});

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
