import { expect, test } from 'vitest';
import { chat, startCall, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  answers,
  error,
  json,
  reset,
  startUpstream,
  type Script,
  type Upstream,
} from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

const limited = (retryAfter?: string): Script =>
  error(429, 'slow down', null, retryAfter === undefined ? {} : { 'retry-after': retryAfter });

const unavailable = (retryAfter: string): Script =>
  error(503, 'down', null, { 'retry-after': retryAfter });

/** A gateway whose hosted upstreams follow these scripts, `hosted_a` first. */
async function startHosted(...scripts: readonly Script[]) {
  const [a, b, c] = await Promise.all(scripts.map((script) => startUpstream(script)));
  return startGateway(
    at({
      ...(a ? { hosted_a: a.url } : {}),
      ...(b ? { hosted_b: b.url } : {}),
      ...(c ? { hosted_c: c.url } : {}),
    }),
  );
}

test('the last upstream that was called decides the final answer', async () => {
  const gateway = await startHosted(limited('30'), unavailable('9'), reset);
  expect(wordOf(await chat(gateway.url))).toEqual(
    worded({
      status: 502,
      code: 'upstream_unreachable',
      reason: 'hosted_a=rate_limited; hosted_b=http_503; hosted_c=unreachable',
      last: ['hosted_c', 'unreachable (the connection was closed)'],
    }),
  );
});

test('the final answer for a 503 is a 503 with its own Retry-After, which is not waited out', async () => {
  const gateway = await startHosted(unavailable('1'), unavailable('2'));
  expect(wordOf(await chat(gateway.url))).toEqual(
    worded({
      status: 503,
      code: 'upstream_unavailable',
      reason: 'hosted_a=http_503; hosted_b=http_503',
      last: ['hosted_b', 'http_503 (HTTP 503)'],
      retryAfter: '2',
    }),
  );
});

// openai-node#1840: a client sleeps as long as it is told to.
test.each([
  [429, limited],
  [503, unavailable],
])('the final answer names a wait of ten minutes if a %i asks for two days', async (code, says) => {
  const gateway = await startHosted(says('172800'));
  const { status, headers } = await chat(gateway.url);
  expect({ status, wait: headers['retry-after'] }).toEqual({ status: code, wait: '600' });
});

test.each([
  // llama.cpp, tools/server
  [
    'a number as its code',
    '{ "error":{"message":"maximum context length is 8","code":400}}',
    'maximum context length is 8',
  ],
  [
    'no code',
    '{"error":"the input length exceeds the context length"}',
    'the input length exceeds the context length',
  ],
  ['words alone', 'maximum context length is 8', 'maximum context length is 8'],
])(
  'a refusal of a long prompt with %s tells a caller of the Responses API the code by which agents shorten it',
  async (_says, body, message) => {
    const gateway = await startHosted(json(400, body));
    const { status, text } = await startCall(`${gateway.url}/v1/responses`, { input: 'hi' }).answer;
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      error: { message, code: 'context_length_exceeded' },
    });
    expect((await chat(gateway.url)).text).toBe(body);
  },
);

test('a model that every upstream lacks is a 404 each time, until one of them has it', async () => {
  const lacking = error(404, 'The model `m` does not exist', 'model_not_found');
  const { gateway, a } = await startBefore({ a: lacking, b: lacking });
  for (let n = 0; n < 3; n += 1) {
    expect(await chat(gateway.url)).toMatchObject({
      status: 404,
      reason: 'hosted_a=model_not_found; hosted_b=model_not_found',
    });
  }
  a.script = answers('it was pulled meanwhile');
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});

test('a 429 reaches the caller when every upstream gave one, with the smallest Retry-After', async () => {
  const gateway = await startHosted(limited('40'), limited('20'), limited('30'));
  expect(wordOf(await chat(gateway.url))).toEqual(
    worded({
      status: 429,
      code: 'upstream_rate_limited',
      reason: 'hosted_a=rate_limited; hosted_b=rate_limited; hosted_c=rate_limited',
      last: ['hosted_c', 'rate_limited (HTTP 429)'],
      retryAfter: '20',
    }),
  );
});

test('a 429 after another failure is a 503 with Retry-After', async () => {
  const gateway = await startHosted(error(402), limited('20'));
  expect(wordOf(await chat(gateway.url))).toEqual(
    worded({
      status: 503,
      code: 'upstream_rate_limited',
      reason: 'hosted_a=quota; hosted_b=rate_limited',
      last: ['hosted_b', 'rate_limited (HTTP 429)'],
      retryAfter: '20',
    }),
  );
});

const NOTHING_SET_UP =
  'local=not_configured; hosted_a=not_configured; hosted_b=not_configured; hosted_c=not_configured; ondemand=not_configured';

const ZERO = { 'x-gateway-force-zero': '1' };

/** An upstream that nobody may ask. */
async function startForbidden(): Promise<Upstream> {
  return startUpstream(answers('never'));
}

test('a request without a configured upstream gets a 503 that names each one and says what to do', async () => {
  const gateway = await startGateway({});
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ status: 503, upstream: 'none', reason: NOTHING_SET_UP });
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-should-retry': 'false',
  });
  expect(answer.headers).not.toHaveProperty('retry-after');
  expect(JSON.parse(answer.text)).toEqual({
    error: {
      message:
        "No source is set up. Open the dashboard's Settings, or set local.baseUrl (INGLENOOK_LOCAL_ENGINE_URL) to an engine on this machine.",
      type: 'server_error',
      code: 'no_upstream',
      param: null,
    },
    src: 'gateway',
  });
});

test('a request without a permitted upstream gets a 503 that names each one', async () => {
  const hosted = await startForbidden();
  const gateway = await startGateway(at({ hosted_a: hosted.url, ondemand: hosted.url }));
  const answer = await chat(gateway.url, HELLO, ZERO);
  expect(answer).toMatchObject({ status: 503, upstream: 'none' });
  expect(answer.reason).toBe(
    'local=not_configured; hosted_a=zero_spend; hosted_b=not_configured; hosted_c=not_configured; ondemand=zero_spend',
  );
  expect(JSON.parse(answer.text)).toEqual({
    error: {
      message:
        'No source can be tried now. hosted_a: skipped because “Never spend money” is on. ondemand: skipped because “Never spend money” is on.',
      type: 'server_error',
      code: 'no_upstream',
      param: null,
    },
    src: 'gateway',
  });
  expect(hosted.calls).toHaveLength(0);
  expect(hosted.gets).toHaveLength(0);
});
