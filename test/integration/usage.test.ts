import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createLog } from '../../main/platform/log.ts';
import { chat, HELLO, startCall } from '../support/client.ts';
import { readExposition } from '../support/exposition.ts';
import { bearer, postJson, send } from '../support/http.ts';
import {
  chunk,
  completion,
  cut,
  DONE,
  error,
  json,
  ROLE,
  type Script,
  sse,
  STOP,
} from '../support/upstream.ts';
import { history, usageChunk, usageOf } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';
import type { Tokens } from '#shared/usage.ts';
import { eventsOf, settingsFor, STREAM_PROTOCOLS } from '../support/protocols.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';

const STREAM = { ...HELLO, model: 'm', stream: true };

const tells: Script = (call) => {
  const options = call.json['stream_options'] as { include_usage?: boolean } | undefined;
  const last = options?.include_usage === true ? [usageChunk(7, 2, 3)] : [];
  return sse(ROLE, chunk({ content: 'hi' }), STOP, ...last, DONE)(call);
};

test('a stream is asked for its usage, and a caller that did not ask does not get it', async () => {
  const { gateway, a } = await startBefore({ a: tells });
  const own = { include_obfuscation: false };
  const { text } = await chat(gateway.url, { ...STREAM, stream_options: own });
  expect(text).toBe(ROLE + chunk({ content: 'hi' }) + STOP + DONE);
  expect(a.calls[0]?.json['stream_options']).toEqual({ ...own, include_usage: true });
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 7, output: 2, cached: 3, estimated: false });
});

const COMPLETED = { id: 'c', choices: [{ index: 0, text: 'hi', finish_reason: 'stop' }] };

test.each([
  ['chat/completions', HELLO, [ROLE, chunk({ content: 'hi' }), STOP]],
  ['completions', { prompt: 'a' }, [`data: ${JSON.stringify(COMPLETED)}\n\n`]],
])(
  'an upstream that refuses to be asked for usage of %s is called again without, and never asked again',
  async (path, body, events) => {
    const strict: Script = (call) =>
      call.json['stream_options'] === undefined
        ? sse(...events, DONE)(call)
        : error(422, 'Extra inputs are not permitted: body.stream_options')(call);
    const { gateway, a } = await startBefore({ a: strict });
    const ask = () => startCall(`${gateway.url}/v1/${path}`, { ...body, model: 'm', stream: true });
    for (let n = 0; n < 2; n += 1) expect((await ask().answer).status).toBe(200);
    const asked = a.calls.map(({ json: sent }) => 'stream_options' in sent);
    expect(asked).toEqual([true, false, false]);
    const row = { attempts: [{}], tokens: { estimated: true } };
    expect(gateway.host.snapshot().requests).toMatchObject([row, row]);
  },
);

const pricesOf = (hosted: 'A' | 'B') => ({
  [`HOSTED_${hosted}_PRICE_INPUT`]: '2',
  [`HOSTED_${hosted}_PRICE_OUTPUT`]: '10',
  [`HOSTED_${hosted}_PRICE_CACHED`]: '0.5',
});

test('the cost of a hosted upstream counts as spent, and that of local as saved', async () => {
  const { gateway, local } = await startBefore(
    {
      local: json(200, { ...completion('hi'), usage: usageOf(100, 10) }),
      a: json(200, { ...completion('hi'), usage: usageOf(1000, 500, 400) }),
    },
    { ...pricesOf('A'), CURRENCY: 'EUR' },
  );
  await chat(gateway.url);
  local.script = error(503);
  await chat(gateway.url);
  const { today, thisMonth, currency } = await history(gateway.url);
  const rows = gateway.host.snapshot().requests;
  expect(rows.map(({ spentNano }) => spentNano)).toEqual([6_400_000, 0]);
  // 100 in and 10 out at 2 and 10 a million; 600 in, 400 cached and 500 out.
  expect([today.savedNano, today.spentNano, currency]).toEqual([300_000, 6_400_000, 'EUR']);
  expect(thisMonth.spentNano).toBe(today.spentNano);
});

test('a continued answer costs what the continuing upstream itself has read, cached and written', async () => {
  const rest = [ROLE, chunk({ content: ' it' }), STOP, usageChunk(600, 500, 400), DONE];
  const { gateway } = await startBefore(
    { a: cut(ROLE, chunk({ content: 'half ' }), chunk({ content: 'of' })), b: sse(...rest) },
    { HOSTED_B_PREFILL: 'last-message', ...pricesOf('B') },
  );
  const { text } = await chat(gateway.url, { ...STREAM, stream_options: { include_usage: true } });
  // Two of the 600 are the text that was sent: to the caller they are part of the answer.
  expect(text).toContain(JSON.stringify(usageOf(598, 502, 400)));
  // 200 in, 400 cached and 500 out.
  expect((await history(gateway.url)).today.spentNano).toBe(5_600_000);
});

test('usage is counted under the name of the key, besides that of all requests', async () => {
  const keys = ['first-key-of-1234', 'second-key-of-12'];
  const { gateway } = await startBefore(
    { a: tells },
    { HOSTED_A_PRICE_OUTPUT: '1000', API_KEYS: keys.join(',') },
  );
  const [first = '', second = ''] = keys;
  for (const key of [first, second, first]) await chat(gateway.url, STREAM, bearer(key));
  const report = await history(gateway.url, bearer(first));
  const ofFirst = { calls: 2, inputTokens: 14, outputTokens: 4, spentNano: 4_000_000 };
  const ofSecond = { calls: 1, inputTokens: 7, outputTokens: 2, spentNano: 2_000_000 };
  expect(report).toMatchObject({
    keys: [
      { key: 'key 1', figures: ofFirst },
      { key: 'key 2', figures: ofSecond },
    ],
    today: { calls: 3, inputTokens: 21 },
  });
  expect(report.points).toMatchObject([{ figures: { calls: 3 } }]);
  const metrics = await send(`${gateway.url}/metrics`, { headers: bearer(first) });
  const { series } = readExposition(metrics.text).get('inglenook_key_tokens_total') ?? {};
  expect(series?.get('{"key":"key 1","type":"input"}')).toBe(14);
  expect(series?.get('{"key":"key 2","type":"output"}')).toBe(2);
});

test('each request is one line of the log with its times and tokens', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'text', write: (text) => void lines.push(text) });
  const key = 'first-key-of-1234';
  const { gateway } = await startBefore({ a: tells }, { API_KEYS: key }, systemClock, log);
  await chat(gateway.url, STREAM, bearer(key));
  expect(lines.filter((each) => each.includes('request'))).toEqual([
    expect.stringMatching(
      /^\S+ info {2}request id=\S+ endpoint=\S+ model=m stream=true key="key 1" state=done upstream=hosted_a status=200 fallbackReason=none firstContentMs=\d+ ms=\d+ inputTokens=7 outputTokens=2 tokensEstimated=false\n$/,
    ),
  ]);
});

const TOLD: Tokens = { input: 11, output: 5, cached: 4, estimated: false };

const CHAT_USAGE = usageOf(11, 5, 4);
const CACHED = { input_tokens_details: { cached_tokens: 4 } };
const RESPONSE_USAGE = { input_tokens: 11, output_tokens: 5, ...CACHED };
/** Anthropic leaves what was cached out of the input. */
const MESSAGE_USAGE = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 5 };

const HI = [{ role: 'user', content: 'hi' }];
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

/** Puts what a protocol tells of its usage into the events of a whole stream. */
const TELLS: Readonly<Record<string, (events: readonly string[]) => readonly string[]>> = {
  responses: (events) =>
    events.map((event) =>
      event.replace('"status":"completed"', `$&,"usage":${JSON.stringify(RESPONSE_USAGE)}`),
    ),
  // All but the output at the beginning.
  messages: (events) =>
    events.map((event) =>
      event
        .replace(
          '"input_tokens":1,"output_tokens":2',
          '"input_tokens":7,"cache_read_input_tokens":4',
        )
        .replace('"output_tokens":2', '"output_tokens":5'),
    ),
};
const inChat = (events: readonly string[]) =>
  events.toSpliced(-1, 0, data({ choices: [], usage: CHAT_USAGE }));

const USAGES: Readonly<Record<string, object>> = {
  responses: RESPONSE_USAGE,
  messages: MESSAGE_USAGE,
};

const DIALECTS = [...STREAM_PROTOCOLS, ...TRANSLATED_PROTOCOLS].map((protocol) => ({
  ...protocol,
  settings: settingsFor(protocol),
  events: (TELLS[protocol.name] ?? inChat)(eventsOf(protocol)),
  answer: { ...(protocol.whole as object), usage: USAGES[protocol.name] ?? CHAT_USAGE },
}));

const speaks =
  ({ events, answer }: (typeof DIALECTS)[number]): Script =>
  (call) =>
    (call.json['stream'] === true ? sse(...events) : json(200, answer))(call);

const WAYS = DIALECTS.flatMap((dialect) =>
  [true, false].map((stream) => ({
    ...dialect,
    title: `${dialect.name}, ${stream ? 'streamed' : 'whole'}`,
    stream,
  })),
);

test.for(WAYS)('the usage of $title is counted once', async (way) => {
  const { gateway } = await startBefore({ a: speaks(way) }, way.settings);
  const body = { ...way.body, stream: way.stream };
  expect((await postJson(gateway.url + way.path, body)).status).toBe(200);
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual(TOLD);
  expect(row?.attempts.map(({ tokens }) => tokens)).toEqual([TOLD]);
});

const VECTORS = { model: 'm', data: [{ index: 0, embedding: [0.25] }] };
const SCORES = { model: 'm', results: [{ index: 0, relevance_score: 0.5 }] };
const INPUT = { prompt_tokens: 11, total_tokens: 11 };
const INPUT_ONLY = { ...TOLD, output: 0, cached: 0 };

test.for<readonly [name: string, body: object, whole: object, tokens: Tokens | null]>([
  ['embeddings', { input: 'a' }, { ...VECTORS, usage: INPUT }, INPUT_ONLY],
  ['rerank', { query: 'q', documents: ['a'] }, { ...SCORES, usage: INPUT }, INPUT_ONLY],
  // The request in bytes by four.
  ['embeddings', { input: 'a' }, VECTORS, { ...INPUT_ONLY, input: 7, estimated: true }],
  ['messages/count_tokens', { messages: HI }, { input_tokens: 11 }, null],
])('the usage of an answer of %s to %j is counted from %j', async ([name, body, whole, tokens]) => {
  const { gateway } = await startBefore({ a: json(200, whole) });
  await postJson(`${gateway.url}/v1/${name}`, { model: 'm', ...body });
  const [row] = gateway.host.snapshot().requests;
  expect([row?.status, row?.tokens]).toEqual([200, tokens]);
});

test('speech counts its text as input', async () => {
  const { gateway } = await startBefore({ a: ({ res }) => void res.end('RIFF') }, pricesOf('A'));
  await postJson(`${gateway.url}/v1/audio/speech`, { model: 'm', input: 'x'.repeat(3600) });
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 906, output: 0, cached: 0, estimated: true });
  expect(row?.spentNano).toBe(1_812_000);
});
