import { expect, test } from 'vitest';
import { expectError, type HttpAnswer, postJson, send } from '../support/http.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, json, REFUSED_URL } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';
import { once } from 'node:events';
import { request } from 'node:http';
import { openWire } from '../support/wire.ts';

const KEY = 'sk-gateway-0123456789';
const HELLO = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] };
const MESSAGES = ['/v1/messages', '/api/v1/messages', '/v1/messages/count_tokens'];

/** Holds an answer against Anthropic's shape, and gives its message. */
function expectAnthropicError(answer: HttpAnswer, status: number, type: string): string {
  expect(answer.status).toBe(status);
  const body = JSON.parse(answer.text) as { error: { message: string } };
  const told = { type, message: expect.stringMatching(/\S/) as string };
  expect(body).toMatchObject({ type: 'error', error: told, src: 'gateway' });
  return body.error.message;
}

test.each(MESSAGES)('every error of the gateway at %s has Anthropic’s shape', async (path) => {
  const { url } = await startGateway({ API_KEYS: KEY, MAX_BODY_BYTES: '1000' });
  const key = { 'x-api-key': KEY };
  const post = (body: unknown, headers = {}) => postJson(url + path, body, { ...key, ...headers });
  expectAnthropicError(await postJson(url + path, HELLO), 401, 'authentication_error');
  expectAnthropicError(await send(url + path, { headers: key }), 405, 'invalid_request_error');
  expectAnthropicError(await post({ messages: [] }), 400, 'invalid_request_error');
  expectAnthropicError(await post('x'.repeat(2000)), 413, 'request_too_large');
  expectAnthropicError(await post(HELLO, { 'content-type': 'a/b' }), 415, 'invalid_request_error');
  expectAnthropicError(await post(HELLO, { host: 'evil.test' }), 403, 'permission_error');
  const unset = await post(HELLO);
  expectAnthropicError(unset, 503, 'overloaded_error');
  const id = unset.headers['x-gateway-request-id'];
  expect(JSON.parse(unset.text)).toHaveProperty('request_id', id);
  const unknown = await send(`${url}/v1/messages/batches`, { headers: key });
  expectAnthropicError(unknown, 404, 'not_found_error');
});

test('Anthropic’s clients get errors in its shape on routes that they share with others', async () => {
  const { url } = await startGateway({ API_KEYS: KEY });
  const headers = { 'anthropic-version': '2023-06-01' };
  expectAnthropicError(await send(`${url}/v1/models`, { headers }), 401, 'authentication_error');
  const message = expectError(await send(`${url}/v1/models`), 401, 'missing_api_key');
  expect(message).toContain('X-Api-Key');
  // The path decides where only one API has it: a gateway in front may add the header to all.
  const chat = await postJson(`${url}/v1/chat/completions`, HELLO, headers);
  expectError(chat, 401, 'missing_api_key');
});

test('an upstream’s error in OpenAI’s shape reaches Anthropic’s clients in theirs', async () => {
  const { url, a } = await startBefore({ a: error(400, 'max_tokens is too large') });
  const answer = await postJson(`${url}/v1/messages`, HELLO);
  expect(JSON.parse(answer.text)).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'max_tokens is too large' },
    request_id: null,
  });
  const own = { type: 'error', error: { type: 'x', message: 'no' }, request_id: 'r' };
  a.script = json(400, own);
  expect(JSON.parse((await postJson(`${url}/v1/messages`, HELLO)).text)).toEqual(own);
});

test.each([
  ['POST', 'chat'],
  ['POST', 'generate'],
  ['POST', 'embed'],
  ['POST', 'embeddings'],
  ['GET', 'tags'],
  ['GET', 'ps'],
  ['GET', 'version'],
  ['POST', 'show'],
  ['POST', 'pull'],
  ['POST', 'push'],
  ['POST', 'create'],
  ['POST', 'copy'],
  ['DELETE', 'delete'],
])('a %s of Ollama’s own /api/%s is a 404 that says what to use instead', async (method, route) => {
  const { url } = await startGateway({});
  const answer = await send(`${url}/api/${route}`, { method });
  expect(answer.status).toBe(404);
  // Its clients show this text.
  const { error: message } = JSON.parse(answer.text) as { error: string };
  expect(message).toContain('a base URL ending in /v1');
});

test('an error’s body has what each upstream said in its own words, and nothing secret', async () => {
  const { url } = await startBefore(
    { a: error(401, 'sk-hosted is wrong'), b: error(500, 'It broke at sk-b-4711') },
    { ...at({ local: REFUSED_URL }), HOSTED_A_API_KEY: 'sk-hosted', HOSTED_B_API_KEY: 'sk-b-4711' },
  );
  const answer = await postJson(`${url}/v1/chat/completions`, HELLO);
  expect(expectError(answer, 502, 'upstream_error')).toBe(
    `No source answered. local was unreachable (nothing listens at ${new URL(REFUSED_URL).host}). hosted_a rejected the key (HTTP 401: [secret] is wrong). hosted_b answered HTTP 500: It broke at [secret].`,
  );
  expect(answer.text).not.toContain('sk-');
});

/** Sends raw bytes and reads until the connection is closed. */
async function exchange(url: string, bytes: string): Promise<string> {
  const caller = await openWire(url);
  caller.send(bytes);
  return caller.closed;
}

test('a request head that is too large is answered with 431', async () => {
  const { url } = await startGateway({});
  const head = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: ${'x'.repeat(20_000)}\r\n\r\n`;
  expect(await exchange(url, head)).toMatch(/^HTTP\/1\.1 431 /);
});

test.each(['::1', '[::1]'])('the setting HOST=%s binds the IPv6 loopback', async (host) => {
  const { url } = await startGateway({ HOST: host });
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

const CHAT = '{"messages":[{"role":"user","content":"hi"}]}';
const CHUNK = `${CHAT.length.toString(16)}\r\n${CHAT}\r\n`;
const JSON_HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';

test.each([
  ['a length', `Content-Length: ${CHAT.length}\r\n\r\n${CHAT}`],
  ['chunks', `Transfer-Encoding: chunked\r\n\r\n${CHUNK}0\r\n\r\n`],
])(
  'a caller that offers HTTP/2, as those in Java do, is answered; its body has %s',
  async (_how, rest) => {
    // Kludex/uvicorn#2722: others lose the body then.
    const { url, a } = await startBefore({ a: answers('hi') });
    const offer =
      'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    const line = 'POST /v1/chat/completions HTTP/1.1';
    const answer = await exchange(url, `${line}\r\n${JSON_HEAD}${offer}${rest}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(a.calls[0]?.json).toMatchObject({ messages: [{ content: 'hi' }] });
    expect(a.calls[0]?.headers).not.toHaveProperty('http2-settings');
  },
);

test('a caller that asks before it sends two megabytes, as those in Java do, may continue', async () => {
  const { url, a } = await startBefore({ a: answers('hi') });
  const headers = { 'content-type': 'application/json', expect: '100-continue' };
  const asked = request(`${url}/v1/chat/completions`, { method: 'POST', headers });
  asked.flushHeaders();
  await once(asked, 'continue');
  const content = 'x'.repeat(2 * 1024 * 1024);
  asked.end(JSON.stringify({ messages: [{ role: 'user', content }] }));
  const [{ statusCode }] = (await once(asked, 'response')) as [{ statusCode: number }];
  expect(statusCode).toBe(200);
  expect(a.calls[0]?.json).toMatchObject({ messages: [{ content }] });
});

test('a caller that sends a whole URL, as to a proxy, is answered', async () => {
  const { url } = await startBefore({ a: answers('hi') });
  const rest = `Connection: close\r\nContent-Length: ${CHAT.length}\r\n\r\n${CHAT}`;
  const line = 'POST http://localhost/v1/chat/completions?x=1 HTTP/1.1';
  expect(await exchange(url, `${line}\r\n${JSON_HEAD}${rest}`)).toMatch(/^HTTP\/1\.1 200 /);
});
