import { expect } from 'vitest';
import type { ProtocolTranslation } from '../../main/gateway/protocols/translation/translation.ts';
import { chunk, completion, DONE, ROLE, STOP } from './upstream.ts';
import { answerOf, streamOf } from './translated.ts';

/** An endpoint with streams, as it looks on the wire. */
export interface StreamProtocol {
  readonly name: string;
  readonly path: string;
  /** Null where the upstream speaks the protocol; otherwise events and answers are those of chat completions. */
  readonly translation: ProtocolTranslation | null;
  readonly body: Readonly<Record<string, unknown>>;
  /** Events before the first content. */
  readonly held: readonly string[];
  readonly content: readonly string[];
  /** The events that complete the answer, the last of which must not be missing. */
  readonly end: readonly string[];
  /** What only a complete stream has. */
  readonly endMark: string;
  readonly failure: string;
  readonly whole: unknown;
  /** What the events are as one answer. */
  readonly assembled: unknown;
  /** A whole answer of the right shape that says nothing, or an error. */
  readonly unusable: readonly unknown[];
}

/** An event with a type. */
export const typed = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

const HI = [{ role: 'user', content: 'hi' }];
const textChunk = (part: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'text_completion', choices: [{ index: 0, text: part, finish_reason: finish }] })}\n\n`;
const response = (more: object) => ({
  response: { id: 'resp_1', object: 'response', error: null, ...more },
});
const ITEM = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
const PARTS = [{ type: 'output_text', text: 'ab' }];
const output = [{ ...ITEM, content: PARTS }];
const AT = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const delta = (part: string) => typed('response.output_text.delta', { ...AT, delta: part });
const block = (part: string) =>
  typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: part } });
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'ab' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
};

export const STREAM_PROTOCOLS: readonly StreamProtocol[] = [
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    translation: null,
    body: { messages: HI },
    held: [ROLE],
    content: [chunk({ content: 'a' }), chunk({ content: 'b [DONE] ' })],
    end: [STOP, DONE],
    endMark: DONE,
    failure: 'data: {"error":{"message":"no"}}\n\n',
    whole: completion('ab'),
    assembled: { choices: [{ message: { content: 'ab [DONE] ' }, finish_reason: 'stop' }] },
    unusable: [{ choices: [] }, { error: { message: 'no' } }, 'null'],
  },
  {
    name: 'completions',
    path: '/v1/completions',
    translation: null,
    body: { prompt: 'a', suffix: 'c' },
    // llama.cpp sends this for a list of prompts.
    held: ['data: null\n\n', textChunk('')],
    content: [textChunk('a'), textChunk('b [DONE] ')],
    end: [textChunk('', 'stop'), DONE],
    endMark: DONE,
    failure: 'data: {"error":{"message":"no"}}\n\n',
    assembled: { choices: [{ index: 0, text: 'ab [DONE] ', finish_reason: 'stop' }] },
    whole: { object: 'text_completion', choices: [{ index: 0, text: '', finish_reason: 'stop' }] },
    unusable: [{ choices: [] }, { choices: [{ text: 'a' }], error: 'no' }, '[]'],
  },
  {
    name: 'responses',
    path: '/v1/responses',
    translation: null,
    body: { input: 'hi' },
    held: [
      // OpenAI repeats the instructions of the request, which may be long.
      typed(
        'response.created',
        response({ status: 'in_progress', instructions: 'x'.repeat(8), output: [] }),
      ),
      typed('response.output_item.added', { output_index: 0, item: ITEM }),
      typed('response.content_part.added', { ...AT, part: { type: 'output_text', text: '' } }),
      delta(''),
    ],
    content: [delta('a'), delta('b response.completed "type":"response.completed" ')],
    end: [
      typed('response.output_item.done', { output_index: 0, item: output[0] }),
      typed('response.completed', response({ status: 'completed', output })),
    ],
    endMark: 'event: response.completed',
    failure: typed('response.failed', response({ status: 'failed', error: { message: 'no' } })),
    assembled: { id: 'resp_1', status: 'completed', output },
    whole: { id: 'resp_1', object: 'response', status: 'completed', error: null, output },
    unusable: [
      { id: 'resp_1', status: 'failed', error: { code: 'x' }, output: [] },
      { object: 'x' },
    ],
  },
  {
    name: 'messages',
    path: '/v1/messages',
    translation: null,
    body: { max_tokens: 5, messages: HI },
    held: [
      typed('message_start', { message: { ...message, content: [], stop_reason: null } }),
      typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      typed('ping'),
    ],
    content: [block('a'), block('b message_stop {"type":"message_stop"} ')],
    end: [
      typed('content_block_stop', { index: 0 }),
      typed('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      typed('message_stop'),
    ],
    endMark: 'event: message_stop',
    failure: typed('error', { error: { type: 'overloaded_error', message: 'no' } }),
    assembled: {
      ...message,
      content: [{ type: 'text', text: 'ab message_stop {"type":"message_stop"} ' }],
    },
    whole: message,
    unusable: [{ type: 'error', error: { type: 'x', message: 'no' } }, { type: 'message' }],
  },
];

/** All events of a whole stream. */
export const eventsOf = ({ held, content, end }: StreamProtocol): string[] => [
  ...held,
  ...content,
  ...end,
];

const EXCHANGE = { id: 'ID', createdAt: 0, model: 'm' };

/** Without what differs from answer to answer of a translation. */
export const comparable = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/"created_at":\d+/g, '"created_at":0');

/** What a caller gets of it; an event without an object, on which clients throw, is left out. */
export function relayedOf(
  { translation, body }: Pick<StreamProtocol, 'translation' | 'body'>,
  events: readonly string[],
): string {
  const readable = events.filter((event) => event !== 'data: null\n\n');
  if (translation === null) return readable.join('');
  const stream = streamOf(translation, { ...EXCHANGE, request: body });
  const told = readable.map((event) =>
    event === DONE ? stream.end() : stream.push(JSON.parse(event.slice('data: '.length)) as object),
  );
  return told.join('');
}

/** What a caller gets of a whole answer. */
export function answeredOf({ translation, body, whole }: WholeProtocol): string {
  if (translation === null) return JSON.stringify(whole);
  return JSON.stringify(answerOf(whole, translation, { ...EXCHANGE, request: body }));
}

/** What an upstream is asked. */
export function askedOf({ translation, path }: WholeProtocol, body: object): [string, string] {
  if (translation === null) return [path.replace('/v1', ''), JSON.stringify(withUsage(path, body))];
  const asked = translation.toChat(body, null);
  if (asked.kind !== 'chat') throw new Error(asked.message);
  return ['/chat/completions', JSON.stringify(asked.body)];
}

/** Streams that tell their usage only if asked are asked. */
function withUsage(path: string, body: object): object {
  const isAsked = path.endsWith('/completions') && 'stream' in body;
  return isAsked ? { ...body, stream_options: { include_usage: true } } : body;
}

/** Settings under which `hosted_a` and `hosted_b` serve it so. */
export const settingsFor = ({ translation }: WholeProtocol): Record<string, string> =>
  translation === null ? {} : { HOSTED_A_PROTOCOLS: 'chat', HOSTED_B_PROTOCOLS: 'chat' };

/** An endpoint that answers whole JSON only. */
export interface WholeProtocol extends Pick<
  StreamProtocol,
  'name' | 'path' | 'translation' | 'body' | 'whole' | 'unusable'
> {}

export const WHOLE_PROTOCOLS: readonly WholeProtocol[] = [
  ...STREAM_PROTOCOLS,
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    translation: null,
    body: { model: 'm', input: ['a', 'b'] },
    whole: { object: 'list', model: 'm', data: [{ index: 0, embedding: [0.25, -1] }] },
    unusable: [
      { object: 'list', data: [] },
      { data: [1], error: { message: 'no' } },
    ],
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    translation: null,
    body: { model: 'm', query: 'q', documents: ['a', 'b'] },
    whole: { model: 'm', results: [{ index: 1, relevance_score: 0.5 }] },
    unusable: [{ results: [] }, { error: 'no' }],
  },
  {
    name: 'count_tokens',
    path: '/v1/messages/count_tokens',
    translation: null,
    body: { model: 'm', messages: HI },
    whole: { input_tokens: 3 },
    unusable: [{}, { input_tokens: null }],
  },
];

/** Splits what came into the relayed part and the error event of the protocol that must end it. */
export function endedInError(text: string): { readonly before: string; readonly code: unknown } {
  // OpenAI's clients know one of the two events, or the other.
  const found =
    /(?:event: error\n)?data: (\{(?:"type":"error"|"error":)[^\n]+\})\n\n(?:event: response\.failed\n[^\n]+\n\n)?$/.exec(
      text,
    );
  expect(found).not.toBeNull();
  const body = JSON.parse(found?.[1] ?? '{}') as { error: { code: unknown }; src: unknown };
  expect(body.src).toBe('gateway');
  return { before: text.slice(0, found?.index), code: body.error.code };
}
