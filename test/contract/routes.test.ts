import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { controlOf, startControlled } from '../support/control.ts';
import { gatewayOfFile, type TestGateway } from '../support/gateway.ts';
import { expectError, postJson, send } from '../support/http.ts';
import { ROUTES } from '../support/routes.ts';
import { startBefore } from '../support/scene.ts';
import { answers } from '../support/upstream.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** For requests that are refused before they do anything. */
const refusing = gatewayOfFile({ HOSTED_A_BASE_URL: 'http://127.0.0.1:9', MAX_BODY_BYTES: '1000' });

const withControl = (gateway: TestGateway) => ({ ...gateway, ...controlOf(gateway) });

/** The methods that each path takes. */
const PATHS = Map.groupBy(ROUTES, ({ path }) => path);

test.each([...PATHS])(
  'the route %s refuses every other method with 405 and names its own',
  async (path, routes) => {
    const allowed = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method));
    const { url, control } = withControl(refusing());
    for (const method of METHODS.filter((each) => !allowed.includes(each))) {
      const answer = await send(url + path, { method, headers: control });
      expectError(answer, 405, 'method_not_allowed');
      expect(answer.headers.allow?.split(', ').toSorted()).toEqual(allowed.toSorted());
    }
  },
);

const READS = ROUTES.filter(({ method }) => method === 'GET').map(({ path }) => path);
/** A stream of events has no end, and the process's own figures are never the same twice. */
const DOCUMENTS = READS.filter((path) => path !== '/api/v1/events' && path !== '/metrics');

test.each(DOCUMENTS)('the HEAD of %s is answered as GET is, without a body', async (path) => {
  const { url, control } = withControl(refusing());
  const head = await send(url + path, { method: 'HEAD', headers: control });
  expect(head.text).toBe('');
  const get = await send(url + path, { headers: control });
  expect(head.status).toBe(get.status);
  for (const name of ['content-type', 'content-length', 'cache-control']) {
    expect([name, head.headers[name]]).toEqual([name, get.headers[name]]);
  }
});

test('the HEAD of the live feed is answered at once, as a stream that has no events', async () => {
  const { url } = await startControlled({});
  const { status, headers, text } = await send(`${url}/api/v1/events`, { method: 'HEAD' });
  expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
});

test.each(['/nothing', '/api/v1', '/v1/complete', '/v1/chat/completions/x', '/%ZZ', '/../etc'])(
  'the path %s is not found, whatever the method',
  async (path) => {
    const { url } = refusing();
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      expectError(await send(url + path, { method }), 404, 'not_found');
    }
    expect((await send(url + path, { method: 'HEAD' })).status).toBe(404);
  },
);

// github.com/openai/codex/issues/43353
test('an app that asks for a WebSocket is told at once to use HTTP', async () => {
  const { url } = await startControlled({});
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const answer = await send(`${url}/v1/responses`, { headers });
  expectError(answer, 426, 'upgrade_required');
  expect(answer.headers.connection).toContain('close');
});

test('an unknown path is named shortened, without its query', async () => {
  const { url } = await startControlled({});
  const answer = await send(`${url}/${'x'.repeat(500)}?key=hunter2`);
  const message = expectError(answer, 404, 'not_found');
  expect(message.length).toBeLessThan(350);
  expect(message).not.toContain('hunter2');
});

/** Agents sign bytes: what is wrong with theirs is in the contract of the providers. */
const WRITES = ROUTES.filter(
  ({ method, path, access }) =>
    ['POST', 'PATCH'].includes(method) &&
    access !== 'agents' &&
    !path.endsWith('/audio/transcriptions'),
);

test.each(WRITES)(
  'a $method of $path refuses a body that is not JSON, is too large or has an unknown coding',
  async ({ path, method }) => {
    const { url, control } = withControl(refusing());
    const json = { 'content-type': 'application/json', ...control };
    const answered = (body: string, headers = json) => send(url + path, { method, headers, body });
    for (const body of ['{"a":', 'null', '"text"', '{"a":1} x']) {
      expect(expectError(await answered(body), 400, 'invalid_request')).not.toContain('text');
    }
    const large = JSON.stringify({ messages: ['x'.repeat(100_000)] });
    const limit = /over (1000|65536) bytes/;
    expect(expectError(await answered(large), 413, 'body_too_large')).toMatch(limit);
    const coded = { ...json, 'content-encoding': 'sevenbit' };
    const refused = await answered('{"messages":[1]}', coded);
    expect(expectError(refused, 415, 'unsupported_media_type')).toContain('JSON');
  },
);

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['ZSTD', zstdCompressSync],
])('a body compressed by %s is read within the limit of plain ones', async (coding, compress) => {
  const { url, a } = await startBefore({ a: answers('hi') }, { MAX_BODY_BYTES: '100000' });
  const headers = { 'content-type': 'application/json', 'content-encoding': coding };
  const post = (body: Buffer) =>
    send(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  const coded = (fields: object) => compress(JSON.stringify({ ...HELLO, ...fields }));
  expect((await post(coded({ user: 'bob' }))).status).toBe(200);
  expect(a.calls[0]?.json).toMatchObject({ ...HELLO, user: 'bob' });
  expect(a.calls[0]?.headers).not.toHaveProperty('content-encoding');
  expectError(await post(coded({ user: 'x'.repeat(1_000_000) })), 413, 'body_too_large');
  expectError(await post(Buffer.from('{}')), 400, 'invalid_request');
  expectError(await post(coded({}).subarray(0, -4)), 400, 'invalid_request');
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined])(
  'a chat completion as %s is a 415: no page can send it unasked',
  async (type) => {
    const { url, a } = await startBefore({ a: answers('hi') });
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    for (const path of ['/v1/chat/completions', '/api/v1/chat/completions']) {
      const body = JSON.stringify(HELLO);
      const answer = await send(url + path, { method: 'POST', headers, body });
      expectError(answer, 415, 'unsupported_media_type');
    }
    expect(a.calls).toHaveLength(0);
  },
);

test('JSON may name its charset and be of any case', async () => {
  const { url } = await startBefore({ a: answers('hi') });
  const type = { 'content-type': 'Application/JSON; charset=utf-8' };
  expect((await postJson(`${url}/v1/chat/completions`, HELLO, type)).status).toBe(200);
});

test('every error on a chat path says that no upstream was called, and which request it was', async () => {
  const { url } = await startControlled({ MAX_BODY_BYTES: '1000' });
  const chat = `${url}/v1/chat/completions`;
  const refused = [
    await send(chat),
    await postJson(chat, {}),
    await postJson(chat, HELLO, { 'content-type': 'text/plain' }),
    await postJson(chat, { messages: ['x'.repeat(2000)] }),
    await postJson(chat, HELLO, { host: 'evil.example' }),
    await postJson(chat, HELLO, { origin: 'https://evil.example' }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([405, 400, 415, 413, 403, 403]);
  const ids = new Set<unknown>();
  for (const { headers } of refused) {
    expect(headers['x-gateway-upstream']).toBe('none');
    expect(headers['x-gateway-fallback-reason']).toBe('none');
    expect(headers['x-gateway-request-id']).toMatch(/^req_/);
    ids.add(headers['x-gateway-request-id']);
  }
  expect(ids.size).toBe(refused.length);
});

const HOSTED = { HOSTED_C_BASE_URL: 'http://127.0.0.1:9' };
const LOCAL = { LOCAL_ENGINE_URL: 'http://127.0.0.1:9' };

test.each<[settings: Record<string, string>, readiness: number]>([
  [{}, 503],
  [HOSTED, 200],
  [{ ...HOSTED, API_KEYS: 'gateway-key-0123456789' }, 200],
  [{ ...HOSTED, FORCE_ZERO: 'true' }, 503],
  [{ ...LOCAL, FORCE_ZERO: 'true' }, 200],
])(
  'a gateway of %j answers /healthz while it runs, and /readyz with %i',
  async (settings, readiness) => {
    const { url } = await startControlled(settings);
    expect(await send(`${url}/healthz`)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect((await send(`${url}/readyz`)).status).toBe(readiness);
  },
);

test.each([
  ['GET', '/models', '/v1/models'],
  ['GET', '/v1/chat/completions/models', '/v1/models'],
  // LM Studio's own (lmstudio.ai/docs/developer/rest/endpoints).
  ['GET', '/api/v0/models', '/v1/models'],
  ['POST', '/v1//chat/completions', '/v1/chat/completions'],
  ['POST', '/openai/v1/responses/', '/v1/responses'],
  ['POST', '/v1/v1/messages/count_tokens', '/v1/messages/count_tokens'],
  ['POST', '/openai/deployments/m/chat/completions', '/v1/chat/completions'],
])('a wrong base URL, as in %s %s, gets a 404 that names %s', async (method, path, meant) => {
  const { url } = await startControlled({});
  const message = expectError(await send(url + path, { method }), 404, 'not_found');
  expect(message).toContain(`It belongs at ${meant}: check the base URL of the app.`);
});

test.each([
  '/v1/images/generations',
  '/v1/responses/resp_1',
  '/v1beta/models/gemini-2.5-flash:generateContent',
])('an API that is not served, as at %s, gets a 404 that lists those that are', async (path) => {
  const { url } = await startControlled({});
  const message = expectError(await send(url + path, { method: 'POST' }), 404, 'not_found');
  expect(message).toMatch(/Apps can call .*\/v1\/chat\/completions, .*\/v1\/models\./);
});

test('both paths of the list of models give the same list, which is empty without an upstream', async () => {
  const { url } = await startControlled({ ...HOSTED, HOSTED_C_MODEL: 'big' });
  const { text } = await send(`${url}/v1/models`);
  expect(text).toContain('127.0.0.1:9/big');
  expect((await send(`${url}/api/v1/models`)).text).toBe(text);
  const none = await send(`${(await startControlled({})).url}/v1/models`);
  expect(JSON.parse(none.text)).toEqual({ object: 'list', data: [] });
});

test('no answer may be kept by a cache', async () => {
  const { url, control } = await startControlled({});
  for (const path of READS.filter((each) => each !== '/')) {
    const { headers } = await send(url + path, { method: 'HEAD', headers: control });
    expect([path, headers['cache-control']]).toEqual([path, 'no-store']);
  }
});
