import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import {
  expectError,
  HAS_IPV6_LOOPBACK,
  type HttpCall,
  OUTER_ADDRESS,
  postJson,
  send,
} from '../support/http.ts';
import { ROUTES } from '../support/routes.ts';
import { answers } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { systemClock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { startGateway } from '../support/gateway.ts';

const CHAT = '/v1/chat/completions';

const post = (body: unknown): HttpCall => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** One request to each route, as a page might make it, and one to none. */
const CALLS: readonly (readonly [path: string, call: HttpCall])[] = [
  [CHAT, post(HELLO)],
  // A feed has no end.
  ...ROUTES.map(
    ({ method, path }) =>
      [path, method === 'GET' ? { method: 'HEAD' } : { ...post({}), method }] as const,
  ),
  ['/nothing', {}],
];

const withHeaders = (call: HttpCall, headers: Record<string, string>): HttpCall => ({
  ...call,
  headers: { ...call.headers, ...headers },
});

/** The same gateway over both loopback families, where the machine has both. */
async function started(settings: Record<string, string> = {}) {
  const { url, a } = await startBefore({ a: answers('hi') }, settings);
  const { port } = new URL(url);
  const urls = [url, ...(HAS_IPV6_LOOPBACK ? [`http://[::1]:${port}`] : [])];
  return { upstream: a, url, urls, port };
}

test('every route forbids browsers to guess the type of an answer', async () => {
  const { url } = await started({ ALLOWED_ORIGINS: 'http://a.test' });
  const preflight: HttpCall = { method: 'OPTIONS', headers: { origin: 'http://a.test' } };
  const refused: HttpCall = { headers: { origin: 'http://evil.test' } };
  const streamed = post({ ...HELLO, stream: true });
  const calls = [
    ...CALLS,
    [CHAT, streamed],
    [CHAT, preflight],
    [CHAT, { method: 'PUT' }],
    ['/', refused],
    ['/api/v1/providers', {}],
    ['/metrics', {}],
  ] as const;
  for (const [path, call] of calls) {
    const { headers } = await send(url + path, call);
    expect([headers['x-content-type-options'], path]).toEqual(['nosniff', path]);
  }
});

test('the page shares its window group and its files with no other site', async () => {
  const { url } = await started();
  const { headers } = await send(url);
  expect(headers).toMatchObject({
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  });
});

async function expectAllRefused(urls: readonly string[], headers: Record<string, string>) {
  for (const [family, url] of urls.entries()) {
    // The guard of both stands before all routes.
    for (const [path, call] of family === 0 ? CALLS : CALLS.slice(0, 1)) {
      const answer = await send(url + path, withHeaders(call, headers));
      expect([answer.status, path]).toEqual([403, path]);
      if (call.method !== 'HEAD') expectError(answer, 403, codeFor(headers));
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
  }
}

const codeFor = (headers: Record<string, string>) =>
  'host' in headers ? 'host_not_allowed' : 'origin_not_allowed';

test.each([
  'evil.example',
  'evil.example:47900',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1@evil.example',
  'evil.example#localhost',
  'mylocalhost',
  '[::2]',
  '192.0.2.77',
  '0.0.0.0',
  '*',
])('no route answers to the Host %s', async (host) => {
  const { upstream, urls } = await started();
  await expectAllRefused(urls, { host });
  expect(upstream.calls).toHaveLength(0);
});

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '[::1]'])(
  'the loopback name %s is served on both families, with any port or none',
  async (name) => {
    const { urls, port } = await started();
    for (const url of urls) {
      for (const host of [name, `${name}:${port}`, `${name}:1`]) {
        expect((await send(`${url}/healthz`, { headers: { host } })).status).toBe(200);
      }
    }
  },
);

test.runIf(OUTER_ADDRESS !== undefined)(
  'the machine’s own name, also as mDNS has it, and the address that was connected to are good Hosts for its network and not over loopback',
  async () => {
    const { url, port } = await started({ HOST: '0.0.0.0', API_KEYS: 'k'.repeat(24) });
    const statusAt = async (base: string, host: string) =>
      (await send(`${base}/healthz`, { headers: { host } })).status;
    const outer = `http://${OUTER_ADDRESS}:${port}`;
    const own = hostname().replace(/\.local$/, '');
    const names = [own, own.toUpperCase(), `${own}:${port}`, `${own}.local:${port}`];
    for (const host of [...names, `${OUTER_ADDRESS}:${port}`]) {
      expect([host, await statusAt(outer, host)]).toEqual([host, 200]);
      expect([host, await statusAt(url, host)]).toEqual([host, 403]);
    }
    for (const host of [
      'evil.example',
      `${own}.evil.example`,
      `x${own}`,
      'other.local',
      `x.${own}.local`,
    ])
      expect([host, await statusAt(outer, host)]).toEqual([host, 403]);
  },
);

test('the setting ALLOWED_HOSTS adds names, and only those', async () => {
  const { urls } = await started({ ALLOWED_HOSTS: 'gpu.lan,inglenook:8080' });
  for (const url of urls) {
    const statusFor = async (host: string) =>
      (await send(`${url}/healthz`, { headers: { host } })).status;
    expect(await statusFor('gpu.lan')).toBe(200);
    expect(await statusFor('GPU.lan:47900')).toBe(200);
    expect(await statusFor('inglenook:8080')).toBe(200);
    expect(await statusFor('localhost')).toBe(200);
    expect(await statusFor('sub.gpu.lan')).toBe(403);
    expect(await statusFor('inglenook:9090')).toBe(403);
  }
});

const SAME_SITE = { 'sec-fetch-site': 'same-site' };
const CROSS_SITE = { 'sec-fetch-site': 'cross-site' };
const AS_DOCUMENT = { 'sec-fetch-dest': 'document' };

test.each<[name: string, headers: Record<string, string>]>([
  ['another site', { origin: 'https://evil.example' }],
  ['another port of this machine', { origin: 'http://localhost:3000' }],
  ['a sandboxed frame', { origin: 'null' }],
  ['a local file', { origin: 'file://' }],
  ['an extension', { origin: 'chrome-extension://abcdef' }],
  ['a look-alike', { origin: 'http://localhost:47900.evil.example' }],
  ['another site without an Origin', CROSS_SITE],
  ['another port without an Origin', { ...SAME_SITE, 'sec-fetch-dest': 'image' }],
  ['another site that opens a document', { ...CROSS_SITE, ...AS_DOCUMENT }],
  [
    'another port that opens a document at another name',
    { ...CROSS_SITE, ...AS_DOCUMENT, referer: 'http://localhost:1/' },
  ],
  ['another port in a frame', { ...SAME_SITE, 'sec-fetch-dest': 'iframe' }],
])('no route serves a page of %s', async (_title, headers) => {
  const { upstream, urls } = await started();
  await expectAllRefused(urls, headers);
  expect(upstream.calls).toHaveLength(0);
});

test('the gateway’s own page is served, by every name that the gateway goes by, and by a link from one of loopback’s to another', async () => {
  const { urls, port } = await started();
  for (const url of urls) {
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
      expect((await send(`${url}/api/v1/status`, { headers })).status).toBe(200);
      expect((await postJson(url + CHAT, HELLO, headers)).status).toBe(200);
      const link = { host, referer: `http://localhost:${port}/`, ...CROSS_SITE, ...AS_DOCUMENT };
      expect((await send(`${url}/api/v1/status`, { headers: link })).status).toBe(200);
    }
  }
});

test.each([
  ['of its own page', { 'sec-fetch-site': 'same-origin' }],
  ['of the address bar', { 'sec-fetch-site': 'none' }],
  ['of a link on another port', { ...SAME_SITE, ...AS_DOCUMENT }],
])('a request %s without Origin is served', async (_which, headers) => {
  const { url } = await started();
  expect((await send(`${url}/api/v1/status`, { headers })).status).toBe(200);
});

test('no answer carries a CORS header without ALLOWED_ORIGINS', async () => {
  const { url, port } = await started();
  for (const [path, call] of CALLS) {
    const origin = `http://127.0.0.1:${port}`;
    const { headers } = await send(url + path, withHeaders(call, { origin }));
    const cors = Object.keys(headers).filter((name) => name.startsWith('access-control'));
    expect([path, ...cors]).toEqual([path]);
  }
});

const preflightOf = (origin: string, more: Record<string, string> = {}) => ({
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'POST', ...more },
});

const FRONT_END = 'https://chat.example.com';

/** The last four are what clients read in a page (openai/openai-node, src/client.ts). */
const EXPOSED =
  'x-gateway-upstream, x-gateway-fallback-reason, x-gateway-request-id, x-gateway-provider, x-gateway-model, x-gateway-dropped, x-gateway-repaired, x-request-id, x-should-retry, retry-after, retry-after-ms';

test('an allowed origin gets its CORS headers on every route, errors included', async () => {
  const { url } = await started({ ALLOWED_ORIGINS: `${FRONT_END},http://localhost:3000` });
  for (const [path, call] of CALLS) {
    const headers = { origin: FRONT_END, ...CROSS_SITE };
    const answer = await send(url + path, withHeaders(call, headers));
    expect([path, answer.status]).not.toEqual([path, 403]);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': FRONT_END,
      vary: expect.stringContaining('Origin'),
    });
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(answer.headers['access-control-expose-headers']).toBe(EXPOSED);
  }
});

test('an allowed origin’s preflight names what it asked for', async () => {
  const { url } = await started({ ALLOWED_ORIGINS: FRONT_END });
  for (const [path] of CALLS) {
    const asked = 'authorization,content-type,x-stainless-lang';
    const headers = { 'access-control-request-headers': asked };
    const answer = await send(url + path, preflightOf(FRONT_END, headers));
    expect([path, answer.status, answer.text]).toEqual([path, 204, '']);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': FRONT_END,
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': asked,
    });
  }
});

test('an allowed origin does not make a foreign Host good', async () => {
  const { urls } = await started({ ALLOWED_ORIGINS: FRONT_END });
  for (const url of urls) {
    const headers = { origin: FRONT_END, host: 'evil.example' };
    const answer = await send(`${url}/api/v1/status`, { headers });
    expect(expectError(answer, 403, 'host_not_allowed')).toContain('INGLENOOK_ALLOWED_HOSTS');
  }
});

test.each([
  ['http://localhost:*', 'http://localhost:3000', true],
  ['http://localhost:*', 'http://localhost', true],
  ['http://localhost:*', 'https://localhost:3000', false],
  ['http://localhost:*', 'http://localhost.evil.test:3000', false],
  ['http://localhost:*', 'http://localhost:evil.test', false],
  ['http://localhost:*', 'http://evil.test/http://localhost:1', false],
  ['https://Chat.Example.com', 'https://chat.example.com', true],
  ['https://chat.example.com', 'http://chat.example.com', false],
  ['https://chat.example.com', 'https://chat.example.com:8443', false],
  ['https://chat.example.com', 'https://example.com', false],
  ['https://chat.example.com', 'null', false],
  ['app://obsidian.md', 'app://obsidian.md', true],
  ['app://obsidian.md', 'app://other.md', false],
  ['tauri://localhost', 'tauri://localhost', true],
  ['capacitor://*', 'capacitor://localhost', true],
  ['capacitor://*', 'capacitors://localhost', false],
  ['chrome-extension://*', 'chrome-extension://abcdef', true],
])('the setting ALLOWED_ORIGINS=%s admits a page of %s: %s', async (allowed, origin, isAllowed) => {
  const { url, a } = await startBefore(
    { a: answers('hi') },
    { ALLOWED_ORIGINS: `https://first.test,${allowed}` },
  );
  const asked = await send(url + CHAT, preflightOf(origin));
  const answered = await postJson(url + CHAT, HELLO, { origin });
  expect([asked.status, answered.status]).toEqual(isAllowed ? [204, 200] : [403, 403]);
  for (const { headers } of [asked, answered])
    expect(headers['access-control-allow-origin']).toBe(isAllowed ? origin : undefined);
  expect(a.calls).toHaveLength(isAllowed ? 1 : 0);
});

test('a refused page gets its origin and the setting that would let it in', async () => {
  const { url } = await startGateway({});
  const origin = 'http://localhost:5173';
  const calls = [
    await send(url + CHAT, preflightOf(origin)),
    await postJson(url + CHAT, HELLO, { origin }),
    await send(`${url}/v1/models`, { headers: { origin } }),
  ];
  for (const refused of calls) {
    const message = expectError(refused, 403, 'origin_not_allowed');
    expect(message).toContain(`INGLENOOK_ALLOWED_ORIGINS=${origin}`);
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
  }
});

test('the log names each refused origin once, and at most 100 of them', async () => {
  const lines: string[] = [];
  const log: Log = (level, event, fields) => {
    if (event === 'origin_refused') lines.push(`${level} ${fields?.['origin']}`);
  };
  const { url } = await startGateway({}, systemClock, log);
  const ask = (origin: string) => send(`${url}/v1/models`, { headers: { origin } });
  await ask('https://a.test');
  await ask('https://b.test');
  await send(url + CHAT, preflightOf('https://a.test'));
  expect(lines).toEqual(['warn https://a.test', 'warn https://b.test']);
  for (let n = 0; n < 200; n += 1) await ask(`https://page-${n}.test/${'x'.repeat(500)}`);
  expect(lines).toHaveLength(100);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(120);
});

test('an allowed public page may reach this machine if the browser asks for that too', async () => {
  const { url } = await startGateway({ ALLOWED_ORIGINS: FRONT_END });
  const more = { 'access-control-request-private-network': 'true' };
  const { headers } = await send(url + CHAT, preflightOf(FRONT_END, more));
  expect(headers['access-control-allow-private-network']).toBe('true');
  const plain = await send(url + CHAT, preflightOf(FRONT_END));
  expect(plain.headers).not.toHaveProperty('access-control-allow-private-network');
  const foreign = await send(url + CHAT, preflightOf('https://evil.test', more));
  expect(foreign.headers).not.toHaveProperty('access-control-allow-private-network');
});
