import { expect, test } from 'vitest';
import { chat, expectServed, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, completion, error, json, startUpstream, lists } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore, startOnly } from '../support/scene.ts';

const TIERS = ['local', 'hosted_a', 'ondemand'] as const;

/** Headers of a caller; the gateway passes the first ones on and keeps the others to itself. */
const PASSED = {
  accept: 'text/event-stream',
  'user-agent': 'OpenAI/JS 7.55.0',
  'openai-beta': 'x=v2',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'tools-2024-04-04',
  'x-stainless-retry-count': '1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'k=v',
  'x-request-id': 'req-of-the-caller',
  'x-claude-code-session-id': 'c1',
  'session-id': 's1',
  session_id: 's2',
  'x-session-id': 's3',
  'x-session-affinity': 's4',
  'x-opencode-session': 's5',
  'x-openwebui-chat-id': 's6',
};
/** They name an account of the caller's, which its own key belongs to. */
const OF_OWN_ACCOUNT = {
  authorization: 'Bearer of-the-caller',
  'openai-organization': 'org-1',
  'openai-project': 'proj-1',
  'anthropic-organization-id': 'org-2',
  'anthropic-workspace-id': 'wrkspc-1',
  'openai-anything-new': 'acct-1',
  'anthropic-anything-new': 'acct-2',
};
const KEPT = {
  'chatgpt-account-id': 'acct-3',
  'x-goog-user-project': 'proj-2',
  'helicone-user-id': 'u-1',
  'cf-aig-authorization': 'Bearer acct-4',
  'api-key': 'acct-5',
  cookie: 'session=1',
  'x-gateway-force-zero': '0',
  'x-gateway-key': 'nobody-asked',
  'x-gateway-token': 'forged',
  'x-forwarded-for': '10.1.1.1',
  forwarded: 'for=10.1.1.1',
  'proxy-authorization': 'Basic eDp5',
  'accept-encoding': 'gzip, br',
  referer: 'http://localhost/',
  'x-anything-else': 'no',
};
/** What HTTP itself needs. */
const OWN = ['host', 'connection', 'content-type', 'content-length', 'x-gateway-hops'];

test.each(TIERS)(
  '%s gets the caller’s headers of the allow-list and no others',
  async (upstream) => {
    const { url, only } = await startOnly(upstream, answers('hi'));
    await chat(url, HELLO, {
      ...PASSED,
      ...OF_OWN_ACCOUNT,
      ...KEPT,
      // A page of the gateway's own; a foreign one is refused.
      origin: url,
      'content-type': 'application/json; charset=utf-8',
    });
    const [call] = only.calls;
    const passed = upstream === 'local' ? { ...PASSED, ...OF_OWN_ACCOUNT } : PASSED;
    expect(call?.headerNames.toSorted()).toEqual([...OWN, ...Object.keys(passed)].toSorted());
    expect(call?.headers).toMatchObject(passed);
  },
);

test.each([
  [403, 'You are not allowed to sample from this model', 'model_not_found'],
  [403, 'This model is for partners', 'model_not_found'],
  [402, 'Prompt tokens limit exceeded: 90000 > 20000', 'request_too_large'],
  [402, 'More token capacity required', 'request_too_large'],
])('a host that refuses one request by %i "%s" takes another', async (status, words, reason) => {
  const a = [error(status, words), answers('hi')];
  const { url } = await startBefore({ a, b: answers('spilled') });
  const ask = (model: string) => chat(url, { ...HELLO, model });
  expectServed(await ask('big'), 'hosted_b', `hosted_a=${reason}`);
  expect(await ask('small')).toMatchObject({ upstream: 'hosted_a' });
});

test.each([
  ['hosted_a', 'HOSTED_A_HEADERS'],
  ['ondemand', 'ONDEMAND_HEADERS'],
] as const)('%s gets its configured headers, which replace others', async (upstream, variable) => {
  const configured = '{"X-Title":"inglenook","User-Agent":"own","api-key":"k"}';
  const { url, only } = await startOnly(upstream, answers('hi'), { [variable]: configured });
  await chat(url, HELLO, { 'user-agent': 'of the caller' });
  const { headers, headerNames } = await only.call(1);
  expect(headers).toMatchObject({ 'x-title': 'inglenook', 'user-agent': 'own', 'api-key': 'k' });
  expect(headerNames.filter((name) => name === 'user-agent')).toHaveLength(1);
});

const BACK = {
  'x-request-id': 'req-of-the-upstream',
  'x-ratelimit-remaining-tokens': '149984',
  'openai-processing-ms': '12',
  'retry-after': '1',
};
const NOT_BACK = {
  'set-cookie': 'session=1',
  'openai-organization': 'org-of-the-owner',
  'openai-project': 'proj-of-the-owner',
  'anthropic-organization-id': 'org-of-the-owner',
  'access-control-allow-origin': '*',
  'access-control-allow-credentials': 'true',
  server: 'uvicorn',
  'x-powered-by': 'x',
  'x-gateway-upstream': 'forged',
  'x-gateway-fallback-reason': 'forged',
  'x-gateway-provider': 'forged',
  'alt-svc': 'h3=":443"',
  'strict-transport-security': 'max-age=1',
};

test.each(TIERS.flatMap((id) => [[id, 200] as const, [id, 400] as const]))(
  'the caller gets the headers of the allow-list from %s (%i) and no others',
  async (upstream, status) => {
    const body = status === 200 ? completion('hi') : { error: { message: 'no' } };
    const { url } = await startOnly(upstream, json(status, body, { ...BACK, ...NOT_BACK }));
    const { headers, ...answer } = await chat(url);
    expect(answer).toMatchObject({ status, upstream, reason: 'none' });
    expect(headers).toMatchObject({ ...BACK, 'content-type': 'application/json' });
    const { 'x-gateway-upstream': _, 'x-gateway-fallback-reason': __, ...others } = NOT_BACK;
    for (const name of Object.keys(others)) expect(headers).not.toHaveProperty(name);
  },
);

const LONG = 'x'.repeat(1025);

test.each([200, 400])(
  'headers over 1 KiB, and more than 8 KiB of them, do not reach the caller (%i)',
  async (status) => {
    const limits = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`x-ratelimit-${n}`, 'y'.repeat(1000)]),
    );
    const body = status === 200 ? completion('hi') : { error: { message: 'no' } };
    const { gateway } = await startBefore({
      a: json(status, body, { 'x-request-id': LONG, 'openai-model': 'm', ...limits }),
    });
    const { headers, ...answer } = await chat(gateway.url);
    expect(answer.status).toBe(status);
    expect(headers['x-request-id']).toBeUndefined();
    const passed = Object.keys(headers).filter((name) => name.startsWith('x-ratelimit-'));
    expect(passed.length).toBeGreaterThan(0);
    expect(JSON.stringify(headers).length).toBeLessThan(9 * 1024);
  },
);

test.each([
  ['application/json; charset=utf-8', 'application/json'],
  ['application/problem+json', 'application/json'],
  ['text/html', 'text/plain; charset=utf-8'],
  ['image/svg+xml', 'text/plain; charset=utf-8'],
  ['application/jsonp', 'text/plain; charset=utf-8'],
  ['application/xhtml+xml', 'text/plain; charset=utf-8'],
])('a refusal of type %s reaches the caller as %s, never as a page', async (type, passed) => {
  const page = '<script>alert(1)</script>';
  const { url } = await startBefore({
    a: ({ res }) => void res.writeHead(400, { 'content-type': type }).end(page),
  });
  const { status, headers } = await chat(url);
  expect([status, headers['content-type']]).toEqual([400, passed]);
  expect(headers['x-content-type-options']).toBe('nosniff');
});

const KEY = 'sk-"of/ours"-0123456789';
test.each(TIERS.filter((id) => id !== 'local'))(
  'a credential of the gateway that %s repeats is masked, in every spelling',
  async (upstream) => {
    const echoed = [KEY, JSON.stringify(KEY), encodeURIComponent(KEY), 'pass-word', 'of-a-header'];
    const only = await startUpstream(({ res, headers }) => {
      res.writeHead(400, { 'content-type': 'text/plain', 'x-request-id': `r-${KEY}` });
      res.end(`${headers.authorization} ${echoed.join(' ')} and the rest`);
    });
    const name = upstream.toUpperCase();
    const gateway = await startGateway({
      [`${name}_BASE_URL`]: `${only.url.replace('http://', 'http://us:pass-word@')}/?k=in-query`,
      [`${name}_API_KEY`]: KEY,
      [`${name}_HEADERS`]: '{"x-own":"Basic of-a-header"}',
    });
    const { text, headers } = await chat(gateway.url);
    expect(text).toMatch(/^Bearer \[secret\] .*and the rest$/);
    for (const secret of echoed) expect(text).not.toContain(secret);
    expect(headers['x-request-id']).toBeUndefined();
  },
);

/** Spelled as no serialiser would, so that every byte shows. */
const asked = (model: string) =>
  `{ "seed":1.0,\t"stream" : true, "stream_options":{ "include_usage":true}, ${model}"messages":[{"role":"user","content":"\\u0068i ö"}],"x":1e3 }\n`;

test.each([
  ['hosted_a', 'HOSTED_A_MODEL', '/base/chat/completions'],
  ['hosted_b', 'HOSTED_B_MODEL', '/base/chat/completions'],
  ['hosted_c', 'HOSTED_C_MODEL', '/base/chat/completions'],
  ['ondemand', 'ONDEMAND_MODEL', '/base/v1/chat/completions'],
] as const)(
  'the body reaches %s byte for byte but for the configured model',
  async (upstream, name, path) => {
    const only = await startUpstream(answers('hi'));
    const settings = at({ [upstream]: `${only.url}/base` });
    const mapped = await startGateway({ ...settings, [name]: 'theirs' });
    const plain = await startGateway(settings);
    await chat(mapped.url, asked('"model":"mine", '));
    await chat(plain.url, asked('"model":"mine", '));
    await chat(plain.url, asked(''));
    await chat(mapped.url, asked(''));
    expect(only.calls.map((call) => call.body.toString()).slice(0, 3)).toEqual([
      asked('"model":"theirs", '),
      asked('"model":"mine", '),
      asked(''),
    ]);
    expect(only.calls[3]?.json).toEqual({ ...JSON.parse(asked('')), model: 'theirs' });
    expect(new Set(only.calls.map((call) => call.path))).toEqual(new Set([path]));
  },
);

test.each([
  ['the one asked for where it is offered', '"model":"b", ', '"model":"b", '],
  ['the one offered otherwise', '"model":"gpt-4o", ', '"model":"a", '],
])('the body reaches local byte for byte, with the model: %s', async (_says, mine, theirs) => {
  const get = lists('a', 'b');
  const { gateway, local } = await startBefore({ local: { script: answers('hi'), get } });
  const { host } = gateway;
  await expect.poll(() => host.snapshot().status.config.models['local']).not.toBeNull();
  await chat(gateway.url, asked(mine));
  expect(local.calls[0]?.body.toString()).toBe(asked(theirs));
  expect(local.calls[0]?.path).toBe('/v1/chat/completions');
});
