import { once } from 'node:events';
import { expect, test } from 'vitest';
import { openIdentity } from '../../../main/agent/storage.ts';
import { parsePublicKey, verifyHealth } from '../../../main/platform/agent-identity.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import {
  GATEWAY_TOKEN,
  hearingRegistry,
  startAgent,
  startModelServer,
  startServing,
  until,
} from '../../support/agent.ts';
import { asking, begin, over } from '../../support/agent-caller.ts';
import { AT_ONCE_MS, millisecondsUntil } from '../../support/at-once.ts';
import { OUTER_ADDRESS, postJson, send } from '../../support/http.ts';
import {
  answerChunks,
  chunk,
  completion,
  cut,
  hang,
  json,
  type Script,
  stall,
  startUpstream,
  STOP,
} from '../../support/upstream.ts';

const CHAT = '/v1/chat/completions';
const ASK = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

const codeOf = (text: string) => (JSON.parse(text) as { error: { code: string } }).error.code;

/** An agent in front of an engine that answers so. */
async function serving(script: Script) {
  const engine = await startModelServer(script);
  return { engine, ...(await startServing(engine)) };
}

test('a request goes to the engine byte by byte, and its answer comes back the same way', async () => {
  const { engine, url } = await serving(json(200, completion('Hello')));
  const answer = await postJson(url + CHAT, ASK);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, completion('Hello')]);
  expect(engine.calls[0]).toMatchObject({ path: CHAT, json: ASK });
});

test('a stream arrives event by event, not at its end', async () => {
  const { url } = await serving(stall(chunk({ content: 'first' })));
  const { res } = await begin(url);
  const [piece] = (await once(res, 'data')) as [Buffer];
  expect(piece.toString()).toContain('first');
});

test('only listed headers go to the engine and back', async () => {
  const { engine, url } = await serving(
    json(200, {}, { 'set-cookie': 'a=b', 'x-request-id': 'r', 'access-control-allow-origin': '*' }),
  );
  const { headers } = await postJson(url + CHAT, ASK, {
    cookie: 'session=secret',
    'x-api-key': 'k',
    'x-gateway-key': 'k',
    'openai-organization': 'o',
    authorization: 'Bearer caller',
  });
  expect(headers['set-cookie'] ?? headers['access-control-allow-origin']).toBeUndefined();
  expect(headers['x-request-id']).toBe('r');
  const names = engine.calls[0]?.headerNames ?? [];
  expect(names).toEqual(expect.arrayContaining(['authorization', 'openai-organization']));
  expect(names.filter((name) => /cookie|x-api-key|x-gateway/.test(name))).toEqual([]);
  expect(engine.calls[0]?.headers.authorization).toBe('Bearer caller');
});

test('the engine’s own key replaces the caller’s', async () => {
  const engine = await startModelServer(json(200, {}));
  const { url } = await startServing(engine, {
    engineUrl: engine.url.replace('http://', 'http://me:key@'),
  });
  await postJson(url + CHAT, ASK, {
    authorization: 'Bearer caller',
    'openai-organization': 'of-the-caller',
  });
  expect(engine.calls[0]?.headerNames).not.toContain('openai-organization');
  const basic = `Basic ${Buffer.from('me:key').toString('base64')}`;
  expect(engine.calls[0]?.headers.authorization).toBe(basic);
});

test('a form is forwarded with its boundary, and JSON in its place is refused', async () => {
  const engine = await startModelServer(json(200, { text: 'a' }));
  const url = `${(await startServing(engine)).url}/v1/audio/transcriptions`;
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const body = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--x--\r\n';
  expect((await send(url, { method: 'POST', headers, body })).status).toBe(200);
  expect(engine.calls[0]?.headers['content-type']).toBe(headers['content-type']);
  expect(engine.calls[0]?.body.toString()).toBe(body);
  expect((await postJson(url, {})).status).toBe(415);
});

test('the answer without an engine says what to do', async () => {
  const { url } = await startAgent();
  for (const answer of [await postJson(url + CHAT, ASK), await send(`${url}/v1/models`)])
    expect([answer.status, codeOf(answer.text)]).toEqual([503, 'no_engine']);
});

test('a redirect of the engine is not passed on', async () => {
  const { url } = await serving(json(302, {}, { location: 'http://elsewhere.test/' }));
  const answer = await postJson(url + CHAT, ASK);
  expect([answer.status, codeOf(answer.text)]).toEqual([502, 'engine_bad_response']);
  expect(answer.headers.location).toBeUndefined();
});

test('an answer that is cut short does not look whole', async () => {
  const { url, agent } = await serving(cut(chunk({ content: 'a' })));
  const { res } = await begin(url);
  await over(res);
  expect(res.complete).toBe(false);
  await until(() => agent.view().inFlight === 0);
  expect(agent.view().record.requests_served).toBe(0);
});

test('the call of the engine is aborted within 50 ms when the caller goes away', async () => {
  const { engine, url, agent } = await serving(stall(chunk({ content: 'a' })));
  const { req } = await begin(url);
  const call = await engine.call(1);
  req.destroy();
  expect(await millisecondsUntil(call.gone)).toBeLessThan(AT_ONCE_MS);
  await until(() => agent.view().inFlight === 0);
});

test('a caller that reads nothing stops the engine and takes no more memory', async () => {
  let written = 0;
  const piece = Buffer.alloc(64 * 1024, 'x');
  const engine = await startModelServer(({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = () => {
      while (written < 200 * 1024 * 1024) {
        written += piece.length;
        if (!res.write(piece)) return;
      }
    };
    res.on('drain', more);
    more();
  });
  const { url } = await startServing(engine);
  const { res, req } = await begin(url);
  res.pause();
  let before = -1;
  // Until nothing has moved for many turns.
  for (let still = 0; still < 200; still = written === before ? still + 1 : 0) {
    before = written;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(written).toBeLessThan(64 * 1024 * 1024);
  req.destroy();
});

test.each([
  ['a body that is too large', 413, 'x'.repeat(1_000_001), {}],
  ['a body that is no JSON by its type', 415, '{}', { 'content-type': 'text/plain' }],
  ['a compressed body', 415, '{}', { 'content-encoding': 'gzip' }],
])('%s is refused with %i', async (_what, status, body, headers) => {
  const { engine, url } = await serving(hang);
  const all = { 'content-type': 'application/json', ...headers };
  const answer = await send(url + CHAT, { method: 'POST', headers: all, body });
  const refusal = [answer.status, codeOf(answer.text)];
  expect(refusal).toEqual([status, status === 413 ? 'body_too_large' : 'unsupported_media_type']);
  expect(engine.calls).toEqual([]);
});

test('a body beyond the memory for all bodies gets the error that the machine is busy', async () => {
  const { engine, url } = await serving(hang);
  // The test's agent has room for two of these.
  const large = { ...ASK, user: 'x'.repeat(900_000) };
  const [first] = [asking(url, large), asking(url, large)];
  await engine.call(2);
  const answer = await postJson(url + CHAT, large);
  expect([answer.status, codeOf(answer.text)]).toEqual([503, 'busy']);
  expect(answer.headers['retry-after']).toBe('2');
  first.destroy();
  engine.script = json(200, completion('x'));
  await expect.poll(async () => (await postJson(url + CHAT, large)).status).toBe(200);
});

test('a request to a hung engine has it checked after 5 s, and then fails', async () => {
  const registry = hearingRegistry();
  const engine = await startUpstream(hang);
  let asked = 0;
  engine.answerGet = ({ path, res }) => {
    const data = [{ id: 'm', owned_by: 'vllm' }];
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(path === '/v1/models' ? { data } : {}));
  };
  const machine = await startServing(engine, { ownRegistry: registry });
  await until(() => registry.statuses.at(-1) === 'idle');
  machine.clock.advance(1000);
  engine.answerGet = () => void (asked += 1);
  const call = { isOver: false };
  const answer = postJson(machine.url + CHAT, ASK).finally(() => (call.isOver = true));
  await until(() => engine.calls.length === 1);
  machine.clock.advance(5000);
  // The check that is under way in the third round may time out before it is sent.
  for (let round = 1; round <= 10 && !call.isOver; round += 1) {
    await until(() => call.isOver || asked >= round);
    machine.clock.advance(1000);
    if (round === 3) {
      await until(() => machine.agent.view().engine?.health.status === 'unresponsive');
      machine.clock.advance(1000);
      await until(() => registry.statuses.at(-1) === 'degraded');
    }
  }
  expect(codeOf((await answer).text)).toBe('engine_unreachable');
  expect(asked).toBeGreaterThanOrEqual(9);
  expect(codeOf((await postJson(machine.url + CHAT, ASK)).text)).toBe('engine_unreachable');
});

test('an engine that gave no answer is checked at once, and the registry gets the result', async () => {
  const registry = hearingRegistry();
  const engine = await startModelServer(hang);
  const machine = await startServing(engine, { ownRegistry: registry });
  await until(() => registry.statuses.at(-1) === 'idle');
  // No detection was due within the longest pause.
  machine.clock.advance(1000);
  await engine.close();
  const answer = await postJson(machine.url + CHAT, ASK);
  expect([answer.status, codeOf(answer.text)]).toEqual([502, 'engine_unreachable']);
  await until(() => machine.agent.view().engine?.health.status === 'unreachable');
  // Changes are told of a second apart, not with the next heartbeat in 15.
  machine.clock.advance(1000);
  await until(() => registry.statuses.at(-1) === 'degraded');
});

const asks = async (headers: Record<string, string>) => {
  const machine = await startAgent({ ownRegistry: hearingRegistry() });
  await until(() => machine.agent.view().registry.state === 'connected');
  return send(`${machine.url}/health`, { headers });
};

test.each([
  ['a program of this machine', {}, 200],
  ['the gateway', { 'x-gateway-token': GATEWAY_TOKEN }, 200],
  ['another gateway', { 'x-gateway-token': 'b'.repeat(64) }, 401],
  ['a token that is none', { 'x-gateway-token': '' }, 401],
  ['somebody behind a proxy of this machine', { 'x-forwarded-for': '10.0.0.9' }, 401],
  [
    'the gateway behind a proxy',
    { 'x-forwarded-for': '10.0.0.9', 'x-gateway-token': GATEWAY_TOKEN },
    200,
  ],
  ['a page in a browser', { origin: 'http://evil.test' }, 403],
  ['a page of this very address', { origin: 'http://127.0.0.1:3001' }, 403],
  ['a cross-site fetch', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a rebound name', { host: 'evil.test' }, 403],
  [
    'the gateway by the name of the machine',
    { host: 'TOWER.local:47901', 'x-gateway-token': GATEWAY_TOKEN },
    200,
  ],
  ['a page that has the name of the machine', { host: 'tower:47901' }, 403],
  ['a page of another port', { 'sec-fetch-site': 'same-site' }, 403],
  ['localhost', { host: 'localhost:3001' }, 200],
  ['a name that only begins like it', { host: 'tower.evil.test' }, 403],
])('%s with %j gets %i', async (_who, headers, status) => {
  const answer = await asks(headers);
  expect(answer.status).toBe(status);
  expect(answer.headers['x-gateway-agent']).toBe(status === 200 ? undefined : 'unauthorized');
});

test.runIf(OUTER_ADDRESS !== undefined)(
  'a request from another machine needs the token',
  async () => {
    const machine = await startAgent({ host: OUTER_ADDRESS ?? '', ownRegistry: hearingRegistry() });
    await until(() => machine.agent.view().registry.state === 'connected');
    const url = `${machine.agent.view().server.url}/health`;
    expect(url).toContain(OUTER_ADDRESS);
    expect((await send(url)).status).toBe(401);
    expect((await send(url, { headers: { 'x-gateway-token': GATEWAY_TOKEN } })).status).toBe(200);
  },
);

const STRANGER = { 'x-forwarded-for': '10.0.0.9' };

test('a caller without the token gets the proof of identity for its nonce, and nothing else', async () => {
  const { url, agent } = await serving(hang);
  const health = await send(`${url}/health?nonce=00ff`, { headers: STRANGER });
  const told = JSON.parse(health.text) as unknown;
  expect(told).toEqual({ status: 'ok', id: agent.view().id, signature: expect.any(String) });
  const tokened = { ...STRANGER, 'x-gateway-token': 'b'.repeat(64) };
  expect((await send(`${url}/health?nonce=00ff`, { headers: tokened })).status).toBe(401);
  expect((await send(`${url}/health?nonce=hello`, { headers: STRANGER })).status).toBe(400);
  for (const path of ['/health', '/v1/models?nonce=00ff', '/nowhere?nonce=00ff'])
    expect((await send(url + path, { headers: STRANGER })).status).toBe(401);
  const rebound = { ...STRANGER, host: 'evil.test' };
  expect((await send(`${url}/health?nonce=00ff`, { headers: rebound })).status).toBe(403);
});

test('the agent’s /health reports engine and model, and proves the identity of the machine', async () => {
  const { url, agent, directory, clock } = await serving(hang);
  clock.advance(4000);
  const answer = await send(`${url}/health?nonce=00ff`);
  const body = JSON.parse(answer.text) as { id: string; signature: string };
  expect(body).toEqual({
    status: 'ok',
    engine_health: { status: 'ok', code: 200 },
    model: 'm',
    gpu_count: 1,
    agent_version: '1.2.3',
    uptime_s: 4,
    id: agent.view().id,
    signature: expect.any(String),
  });
  const { identity } = openIdentity(directory, systemClock);
  const key = parsePublicKey(identity.publicKey);
  expect(key && verifyHealth(key, { nonce: '00ff', ...body })).toBe(true);
});

test('a pause aborts the running requests and refuses new ones', async () => {
  const { engine, url, agent } = await serving(stall(chunk({ content: 'a' })));
  const { res } = await begin(url);
  const gone = over(res);
  await agent.setMode('paused');
  await gone;
  expect(res.complete).toBe(false);
  const answer = await postJson(url + CHAT, ASK);
  expect([answer.status, codeOf(answer.text)]).toEqual([503, 'paused']);
  expect(answer.headers['retry-after']).toBe('30');
  expect((await send(`${url}/health`)).status).toBe(200);
  await agent.setMode('on');
  engine.script = json(200, completion('back'));
  expect((await postJson(url + CHAT, ASK)).status).toBe(200);
});

test('a drain lets running requests finish, then the machine is paused', async () => {
  const { engine, url, agent } = await serving(stall(...answerChunks('a').slice(0, 2)));
  const { res } = await begin(url);
  await agent.setMode('drained');
  const view = agent.view();
  expect(view).toMatchObject({ owner: { mode: 'draining' }, record: { status: 'draining' } });
  expect(codeOf((await postJson(url + CHAT, ASK)).text)).toBe('draining');
  const call = await engine.call(1);
  call.res.end(STOP + 'data: [DONE]\n\n');
  await over(res);
  expect(res.complete).toBe(true);
  await until(() => agent.view().owner.mode === 'paused');
});

test('the counts of requests and tokens come from the usage, and outlive a restart', async () => {
  const usage = { usage: { completion_tokens: 7 } };
  const engine = await startModelServer(json(200, { ...completion('x'), ...usage }));
  const first = await startServing(engine);
  await postJson(first.url + CHAT, ASK);
  await until(() => first.agent.view().inFlight === 0);
  const { id } = first.agent.view();
  await first.stop();
  const second = await startServing(engine, { dataDirectory: first.directory });
  const view = second.agent.view();
  expect(view).toMatchObject({ id, record: { requests_served: 1, tokens_generated: 7 } });
});
