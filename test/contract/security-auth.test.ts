import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LiveSnapshot } from '#shared/live.ts';
import { controlProof, controlToken, readControlToken } from '../../main/platform/secrets.ts';
import { HELLO } from '../support/client.ts';
import { readFeed } from '../support/feed.ts';
import { startGateway, temporaryDirectory, type TestGateway } from '../support/gateway.ts';
import { bearer, expectError, HAS_IPV6_LOOPBACK, postJson, send } from '../support/http.ts';
import { ROUTES } from '../support/routes.ts';
import { answers, error } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const KEY = 'gateway-key-0123456789';
const OTHER_KEY = 'gateway-key-9876543210';
/** No token or code of any gateway. */
const UNKNOWN = '0'.repeat(64);
const CHAT = '/v1/chat/completions';
const READS = ROUTES.filter(({ access, method }) => access === 'callers' && method === 'GET').map(
  ({ path }) => path,
);
const CONTROL = ROUTES.filter(({ access }) => access === 'control');

const own = (key: string) => ({ 'x-gateway-key': key });

/** A gateway over a `local` and a hosted upstream that both answer. */
async function started(settings: Record<string, string> = {}) {
  const { gateway, local, a } = await startBefore(
    { local: answers('hi'), a: answers('hi') },
    { HOSTED_A_API_KEY: 'the-hosted-key', ...settings },
  );
  return { local, hosted: a, gateway, control: tokenOf(gateway) };
}

function tokenOf({ dataDirectory }: TestGateway): string {
  return readControlToken(dataDirectory) ?? '';
}

const FORM = 'must be "Bearer <key>"';

const BAD: [name: string, headers: Record<string, string>, code: string, says?: string][] = [
  ['no key', {}, 'missing_api_key'],
  ['a wrong key', bearer('gateway-key-0123456780'), 'invalid_api_key'],
  ['a wrong key of its own header', own('gateway-key-0123456780'), 'invalid_api_key'],
  ['the beginning of a key', bearer(KEY.slice(0, -1)), 'invalid_api_key'],
  ['a key and more', bearer(`${KEY}0`), 'invalid_api_key'],
  ['a key of other case', bearer(KEY.toUpperCase()), 'invalid_api_key'],
  ['both keys as one', bearer(`${KEY},${OTHER_KEY}`), 'invalid_api_key'],
  ['an empty key', own(''), 'invalid_api_key'],
  ['a key without scheme', { authorization: KEY }, 'invalid_api_key', FORM],
  // What apps send whose key field is empty, or holds more than the key.
  ['the word Bearer alone', { authorization: 'Bearer' }, 'missing_api_key'],
  ['the word Bearer twice', bearer(`Bearer ${KEY}`), 'invalid_api_key', FORM],
  ['a key in quotes', bearer(`"${KEY}"`), 'invalid_api_key'],
  [
    'a user name and a key',
    { authorization: `Basic ${btoa(`u:${KEY}`)}` },
    'invalid_api_key',
    FORM,
  ],
  ['a key as a cookie', { cookie: `key=${KEY}` }, 'missing_api_key'],
  ['a wrong key as x-api-key', { 'x-api-key': 'wrong-key-of-somebody' }, 'invalid_api_key'],
];

test.each(BAD)(
  '%s is a 401 for callers and readers if keys are set, on loopback too',
  async (...row) => {
    const [, headers, code, says = ''] = row;
    const { local, hosted, gateway } = await started({ API_KEYS: `${KEY},${OTHER_KEY}` });
    for (const path of [CHAT, `/api${CHAT}`]) {
      const answer = await postJson(gateway.url + path, HELLO, headers);
      const message = expectError(answer, 401, code);
      expect(message).toContain(says);
      expect(message).not.toContain(KEY);
    }
    for (const path of READS) {
      const message = expectError(await send(gateway.url + path, { headers }), 401, code);
      expect(message).not.toContain(KEY);
    }
    expect([local.calls, hosted.calls]).toEqual([[], []]);
  },
);

test.each([
  ['as a bearer', bearer(KEY)],
  ['as a bearer in lower case', { authorization: `bearer ${KEY}` }],
  ['in its own header', own(KEY)],
  ['as x-api-key beside another bearer', { 'x-api-key': KEY, ...bearer('sk-engine') }],
  ['as the second of two', bearer(OTHER_KEY)],
])('a right key %s opens chat and reading', async (_title, headers: Record<string, string>) => {
  const { gateway } = await started({ API_KEYS: `${KEY},${OTHER_KEY}` });
  expect((await postJson(gateway.url + CHAT, HELLO, headers)).status).toBe(200);
  for (const path of READS) {
    // A feed has no end.
    const { status } = await send(gateway.url + path, { method: 'HEAD', headers });
    // The agent is switched off.
    const expected = path.endsWith('/agent') ? 409 : /unknown|name/.test(path) ? 404 : 200;
    expect([path, status]).toEqual([path, expected]);
  }
});

test('a key reads that a source failed, and only the owner reads its words, which may quote an answer', async () => {
  const { local, gateway, control } = await started({ API_KEYS: `${KEY},${OTHER_KEY}` });
  local.script = error(418, 'Cannot parse: The patient Maria Rossi has');
  const feeds = {
    guest: await readFeed(gateway.url, own(OTHER_KEY)),
    owner: await readFeed(gateway.url, bearer(control)),
  };
  // From the third one on they are shown as requests that move on again and again.
  for (let n = 0; n < 3; n += 1) await postJson(gateway.url + CHAT, HELLO, own(KEY));
  const [row] = gateway.host.snapshot().requests;
  const paths = ['/api/v1/requests', `/api/v1/requests/${row?.id}`, '/api/v1/snapshot'];
  const textsFor = (headers: Record<string, string>) =>
    Promise.all(paths.map(async (path) => (await send(gateway.url + path, { headers })).text));
  for (const text of await textsFor(own(OTHER_KEY))) {
    expect(text).toContain('HTTP 418');
    expect(text).not.toContain('Maria');
  }
  // Control includes reading, without a key.
  for (const secret of [control, await redeem(gateway, gateway.host.controlLink())]) {
    for (const text of await textsFor(bearer(secret))) expect(text).toContain('Maria');
  }
  for (const feed of Object.values(feeds)) await feed.received('HTTP 418');
  expect(JSON.stringify(feeds.owner.events)).toContain('Maria');
  expect(JSON.stringify(feeds.guest.events)).not.toContain('Maria');
});

test('the owner, and nobody who reads by a key, hears of calls with a wrong key or none, but not of the key', async () => {
  const { gateway, control } = await started({ API_KEYS: KEY });
  const seen = async (headers: Record<string, string>) => {
    const { text } = await send(`${gateway.url}/api/v1/snapshot`, { headers });
    expect(text).not.toContain('wrong');
    return (JSON.parse(text) as LiveSnapshot).keyRefusals;
  };
  expect(await seen(bearer(control))).toBeNull();
  await postJson(gateway.url + CHAT, HELLO, bearer('wrong-key-of-an-app'));
  await send(`${gateway.url}/v1/models`);
  // A locked dashboard is no app.
  await send(`${gateway.url}/api/v1/events`);
  expect(await seen(bearer(control))).toMatchObject({ count: 2, lastAddress: '127.0.0.1' });
  expect(await seen(bearer(KEY))).toBeNull();
});

/** What one chat completion brings `local`, then, when that fails, a hosted upstream. */
async function forwarded(settings: Record<string, string>, headers: Record<string, string>) {
  const { local, hosted, gateway } = await started(settings);
  expect((await postJson(gateway.url + CHAT, HELLO, headers)).status).toBe(200);
  local.script = error(503);
  expect((await postJson(gateway.url + CHAT, HELLO, headers)).status).toBe(200);
  const all = [...local.calls, ...hosted.calls];
  return {
    local: local.calls[0]?.headers.authorization,
    hosted: hosted.calls[0]?.headers.authorization,
    names: new Set(all.flatMap((call) => call.headerNames)),
    everything: JSON.stringify(all.map((call) => call.headers)),
  };
}

const CALLER = bearer('sk-caller');

test.each<
  [
    name: string,
    settings: Record<string, string>,
    headers: Record<string, string>,
    local: string | undefined,
    hosted?: string | null,
  ]
>([
  ['Authorization', {}, CALLER, 'Bearer sk-caller'],
  ['Basic Authorization', {}, { authorization: 'Basic dXNlcjpwYXNz' }, 'Basic dXNlcjpwYXNz'],
  ['bare Authorization', {}, { authorization: 'sk-caller' }, 'sk-caller'],
  ['x-api-key', { HOSTED_A_API_KEY: '' }, { 'x-api-key': 'sk-caller' }, 'Bearer sk-caller', null],
  // No keys are set, so that it opens nothing and harms nothing.
  ['X-Gateway-Key', {}, { ...own(KEY), ...CALLER }, 'Bearer sk-caller'],
  ['gateway key', { API_KEYS: KEY }, bearer(KEY), undefined],
  ['gateway key beside it', { API_KEYS: KEY }, { 'x-api-key': KEY, ...CALLER }, 'Bearer sk-caller'],
])(
  'a caller’s %s goes to local at most, and no upstream gets a key of the gateway',
  async (_name, settings, headers, local, hosted = 'Bearer the-hosted-key') => {
    const seen = await forwarded(settings, headers);
    expect([seen.local, seen.hosted ?? null]).toEqual([local, hosted]);
    expect(seen.names).not.toContain('x-api-key');
    const ours = [...seen.names].filter((name) => name.startsWith('x-gateway'));
    expect(ours).toEqual(['x-gateway-hops']);
    expect(seen.everything).not.toContain(KEY);
  },
);

test('neither the control token nor a session token goes to any upstream', async () => {
  const { local, hosted, gateway, control } = await started();
  const session = await redeem(gateway, gateway.host.controlLink());
  for (const secret of [control, session]) {
    expect((await postJson(gateway.url + CHAT, HELLO, bearer(secret))).status).toBe(200);
  }
  local.script = error(503);
  expect((await postJson(gateway.url + CHAT, HELLO, bearer(control))).status).toBe(200);
  const sent = local.calls.map((call) => call.headers.authorization);
  expect(sent).toEqual([undefined, undefined, undefined]);
  const all = [...local.calls, ...hosted.calls].map((call) => call.headers);
  expect(JSON.stringify(all)).not.toContain(control);
});

async function redeem(gateway: TestGateway, link: string): Promise<string> {
  const answer = await postJson(`${gateway.url}/api/v1/sessions`, { code: codeOf(link) });
  expect(answer.status).toBe(200);
  return (JSON.parse(answer.text) as { token: string }).token;
}

const codeOf = (link: string) => new URL(link).hash.replace(/^#code=/, '');

test.each(CONTROL)('the route $method $path is for control alone', async ({ method, path }) => {
  const { gateway } = await started({ API_KEYS: KEY });
  const url = gateway.url + path;
  const session = await redeem(gateway, gateway.host.controlLink());
  const code = codeOf(gateway.host.controlLink());
  const headers = { 'content-type': 'application/json' };
  const body = method === 'GET' ? '' : '{}';
  const refused = [{}, bearer(KEY), own(KEY), bearer(UNKNOWN), bearer(code), own(session)];
  for (const more of refused) {
    const answer = await send(url, { method, headers: { ...headers, ...more }, body });
    const message = expectError(answer, 401, 'control_required');
    expect(message).toContain('inglenook open');
  }
  for (const secret of [tokenOf(gateway), session]) {
    const answer = await send(url, { method, headers: { ...headers, ...bearer(secret) }, body });
    // What is unknown here, or wrong with an empty body, is another matter.
    expect(answer.status).toBeOneOf([200, 201, 400, 404, 409]);
  }
});

test('a sign-in link opens one session, and neither its token nor the control token opens another', async () => {
  const gateway = await startGateway({});
  const link = gateway.host.controlLink();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=[0-9a-f]{64}$/);
  const token = await redeem(gateway, link);
  for (const code of [codeOf(link), token, tokenOf(gateway)]) {
    const again = await postJson(`${gateway.url}/api/v1/sessions`, { code });
    expect(expectError(again, 401, 'invalid_code')).not.toContain(code);
  }
});

test.each([{}, { code: '' }, { code: 5 }, { code: null }, { code: ['a'] }, { code: UNKNOWN }, []])(
  'the body %j brings no session',
  async (body) => {
    const gateway = await startGateway({});
    gateway.host.controlLink();
    const answer = await postJson(`${gateway.url}/api/v1/sessions`, body);
    expect(expectError(answer, 401, 'invalid_code')).toContain('inglenook open');
  },
);

test('a session makes new links, each with a code of its own', async () => {
  const gateway = await startGateway({});
  const headers = bearer(await redeem(gateway, gateway.host.controlLink()));
  const links = new Set<string>();
  for (let asked = 0; asked < 3; asked += 1) {
    const answer = await postJson(`${gateway.url}/api/v1/sessions/codes`, {}, headers);
    links.add((JSON.parse(answer.text) as { link: string }).link);
  }
  expect(links.size).toBe(3);
  for (const link of links) await redeem(gateway, link);
});

test('the control token is made once, for its owner alone, and stays', async () => {
  const directory = join(temporaryDirectory(), 'data');
  const token = controlToken(directory);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(controlToken(directory)).toBe(token);
  expect(controlToken(temporaryDirectory())).not.toBe(token);
  expect(readFileSync(join(directory, 'control-token'), 'utf8')).toBe(`${token}\n`);
  if (process.platform === 'win32') return;
  expect(statSync(join(directory, 'control-token')).mode & 0o777).toBe(0o600);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

/** What a gateway says to a nonce that it is asked at an address. */
async function proofAt(url: string, nonce: string, headers = {}): Promise<string> {
  const answer = await send(`${url}/api/v1/proof?nonce=${nonce}`, { headers });
  return (JSON.parse(answer.text) as { proof: string }).proof;
}

test('a gateway proves that it knows the control token, without a key, for the address that the connection came to, whatever its Host says', async () => {
  const { gateway, control } = await started({ API_KEYS: KEY });
  const nonce = 'ab'.repeat(32);
  const { port } = new URL(gateway.url);
  const end = { address: '127.0.0.1', port: Number(port) };
  for (const headers of [{}, { host: 'localhost:1' }]) {
    expect(await proofAt(gateway.url, nonce, headers)).toBe(controlProof(control, nonce, end));
  }
});

test('a proof is valid only for its nonce, its address and its token', async () => {
  const [{ gateway }, other] = [await started(), await startGateway({})];
  const { port } = new URL(gateway.url);
  const proofs = [
    await proofAt(gateway.url, 'ab'.repeat(32)),
    await proofAt(gateway.url, 'cd'.repeat(32)),
    await proofAt(other.url, 'ab'.repeat(32)),
    ...(HAS_IPV6_LOOPBACK ? [await proofAt(`http://[::1]:${port}`, 'ab'.repeat(32))] : []),
  ];
  expect(new Set(proofs).size).toBe(proofs.length);
  expect(await proofAt(gateway.url, 'ab'.repeat(32))).toBe(proofs[0]);
});

test.each(['', 'ab', 'AB'.repeat(32), 'ab'.repeat(33), `${'ab'.repeat(31)}zz`, 'pool', 'ab%0a'])(
  'the nonce %j is refused',
  async (nonce) => {
    const { gateway } = await started();
    const url = `${gateway.url}/api/v1/proof?nonce=${nonce}`;
    for (const each of [url, `${url}&nonce=${'ab'.repeat(32)}`]) {
      const message = expectError(await send(each), 400, 'invalid_request');
      expect(message).toContain('64 lower-case hex digits');
    }
  },
);
