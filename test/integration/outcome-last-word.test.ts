import { expect, test } from 'vitest';
import { chat, startCall, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { expectError } from '../support/http.ts';
import { answers, error, json, reset, type Script } from '../support/upstream.ts';
import { worded, wordOf } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

const limited = (retryAfter: string): Script =>
  error(429, 'slow down', null, { 'retry-after': retryAfter });

const unavailable = (retryAfter: string): Script =>
  error(503, 'down', null, { 'retry-after': retryAfter });

const CLOSED = ['hosted_c', 'unreachable (the connection was closed)'] as const;
const DOWN = ['hosted_c', 'http_503 (HTTP 503)'] as const;
const LIMITED = ['hosted_c', 'rate_limited (HTTP 429)'] as const;

type Row = [
  what: string,
  scripts: Readonly<Record<'a' | 'b' | 'c', Script>>,
  reasons: readonly [a: string, b: string, c: string],
  word: Parameters<typeof worded>[0],
];

test.each<Row>([
  [
    'that of the last upstream that was called',
    { a: limited('30'), b: unavailable('9'), c: reset },
    ['rate_limited', 'http_503', 'unreachable'],
    { status: 502, code: 'upstream_unreachable', last: CLOSED },
  ],
  [
    'a 503 with its own Retry-After, which is not waited out',
    { a: unavailable('1'), b: unavailable('3'), c: unavailable('2') },
    ['http_503', 'http_503', 'http_503'],
    { status: 503, code: 'upstream_unavailable', last: DOWN, retryAfter: '2' },
  ],
  [
    'a 429 with the smallest Retry-After when every upstream gave one',
    { a: limited('40'), b: limited('20'), c: limited('30') },
    ['rate_limited', 'rate_limited', 'rate_limited'],
    { status: 429, code: 'upstream_rate_limited', last: LIMITED, retryAfter: '20' },
  ],
  [
    'a 503 with Retry-After for a 429 after another failure',
    { a: error(402), b: limited('9'), c: limited('20') },
    ['quota', 'rate_limited', 'rate_limited'],
    { status: 503, code: 'upstream_rate_limited', last: LIMITED, retryAfter: '9' },
  ],
])('the final answer is %s', async (_what, scripts, [a, b, c], word) => {
  const { url } = await startBefore(scripts);
  const reason = `hosted_a=${a}; hosted_b=${b}; hosted_c=${c}`;
  expect(wordOf(await chat(url))).toEqual(worded({ ...word, reason }));
});

// openai-node#1840: a client sleeps as long as it is told to.
test.each([
  [429, limited],
  [503, unavailable],
])('the final answer names a wait of ten minutes if a %i asks for two days', async (code, says) => {
  const { url } = await startBefore({ a: says('172800') });
  const { status, headers } = await chat(url);
  expect({ status, wait: headers['retry-after'] }).toEqual({ status: code, wait: '600' });
});

const TOO_LONG = 'maximum context length is 8';

test.each([
  // llama.cpp, tools/server
  ['a number as its code', `{ "error":{"message":"${TOO_LONG}","code":400}}`],
  ['no code', `{"error":"${TOO_LONG}"}`],
  ['words alone', TOO_LONG],
])(
  'a refusal of a long prompt with %s tells a caller of the Responses API the code by which agents shorten it',
  async (_says, body) => {
    const { url } = await startBefore({ a: json(400, body) });
    const { status, text } = await startCall(`${url}/v1/responses`, { input: 'hi' }).answer;
    const told = { error: { message: TOO_LONG, code: 'context_length_exceeded' } };
    expect([status, JSON.parse(text)]).toMatchObject([400, told]);
    expect((await chat(url)).text).toBe(body);
  },
);

test('a model that every upstream lacks is a 404 each time, until one of them has it', async () => {
  const lacking = error(404, 'The model `m` does not exist', 'model_not_found');
  const { gateway, a } = await startBefore({ a: lacking, b: lacking });
  const reason = 'hosted_a=model_not_found; hosted_b=model_not_found';
  for (let n = 0; n < 3; n += 1) {
    expect(await chat(gateway.url)).toMatchObject({ status: 404, reason });
  }
  a.script = answers('it was pulled meanwhile');
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});

const NOTHING_SET_UP =
  'local=not_configured; hosted_a=not_configured; hosted_b=not_configured; hosted_c=not_configured; ondemand=not_configured';

test('a request without a configured upstream gets a 503 that names each one and says what to do', async () => {
  const gateway = await startGateway({});
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ upstream: 'none', reason: NOTHING_SET_UP });
  expect(answer.headers['x-should-retry']).toBe('false');
  expect(answer.headers).not.toHaveProperty('retry-after');
  expect(expectError(answer, 503, 'no_upstream')).toBe(
    "No source is set up. Open the dashboard's Settings, or set local.baseUrl (INGLENOOK_LOCAL_ENGINE_URL) to an engine on this machine.",
  );
});

test('a request without a permitted upstream gets a 503 that names each one', async () => {
  const never = answers('never');
  const { url, a, ondemand } = await startBefore({ a: never, ondemand: never });
  const answer = await chat(url, HELLO, { 'x-gateway-force-zero': '1' });
  const reason = NOTHING_SET_UP.replace(/(hosted_a|ondemand)=not_configured/g, '$1=zero_spend');
  expect(answer).toMatchObject({ upstream: 'none', reason });
  expect(expectError(answer, 503, 'no_upstream')).toBe(
    'No source can be tried now. hosted_a was skipped because “Never spend money” is on. ondemand was skipped because “Never spend money” is on.',
  );
  expect([a, ondemand].flatMap(({ calls, gets }) => [...calls, ...gets])).toEqual([]);
});
