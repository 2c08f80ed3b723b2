import { expect, test } from 'vitest';
import type { Tokens } from '#shared/usage.ts';
import { chatStream } from '../support/client.ts';
import { postJson } from '../support/http.ts';
import { STREAM_PROTOCOLS, settingsFor, eventsOf } from '../support/protocols.ts';
import { chunk, DONE, json, ROLE, type Script, sse, STOP } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import { usageOf } from '../support/usage.ts';

const TOLD: Tokens = { input: 11, output: 5, cached: 4, estimated: false };

const CHAT_USAGE = usageOf(11, 5, 4);
const RESPONSE_USAGE = {
  input_tokens: 11,
  output_tokens: 5,
  input_tokens_details: { cached_tokens: 4 },
};
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

test('a stream whose upstream tells of its prompt alone counts its events as output', async () => {
  const usage = data({ choices: [], usage: { prompt_tokens: 11 } });
  const { gateway } = await startBefore({
    a: sse(ROLE, chunk({ content: 'hi' }), STOP, usage, DONE),
  });
  await chatStream(gateway.url);
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 11, output: 4, cached: 0, estimated: true });
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
