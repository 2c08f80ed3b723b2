import {
  CHAT_PATH,
  LAST_EVENTS,
  PLAIN_ANSWER,
  PLAIN_REQUEST,
  PLAIN_TEXT,
  ROLE_EVENT,
  STREAM_REQUEST,
  TOKEN_EVENT,
  TOKENS,
  WORDS,
} from './traffic.ts';

/** What goes over the wire in one protocol: the same text in as many pieces. */
export interface Wire {
  readonly path: string;
  readonly plainRequest: Buffer;
  readonly streamRequest: Buffer;
  readonly plainAnswer: Buffer;
  /** The events before the first piece, each piece, and the events behind the last. */
  readonly opening: string;
  readonly token: string;
  readonly closing: string;
  /** Stands once in each piece, and in nothing else. */
  readonly tokenMark: string;
  /** Stands in the last event. */
  readonly endMark: string;
}

export type Api = 'chat' | 'responses' | 'messages';

const json = (value: object) => Buffer.from(JSON.stringify(value));

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

const events = (...all: readonly Event[]) =>
  all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const SETTINGS = { model: 'bench-model', temperature: 0.7 };
const TEXT = ' token'.repeat(TOKENS);
const ID = 'resp_bench000000000000000000000000001';

function responses(): Wire {
  const request = (stream: boolean) =>
    json({
      ...SETTINGS,
      stream,
      max_output_tokens: 512,
      instructions: WORDS.repeat(3),
      input: WORDS.repeat(12),
    });
  const usage = { input_tokens: 250, output_tokens: 200, total_tokens: 450 };
  const head = { id: ID, object: 'response', created_at: 1_790_000_000, model: 'bench-model' };
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (status: string, text: string | null) => ({
    type: 'message',
    id: 'msg_bench',
    status,
    role: 'assistant',
    content: text === null ? [] : [part(text)],
  });
  const running = { ...head, status: 'in_progress', output: [], usage: null };
  const whole = (text: string) => {
    return { ...head, status: 'completed', output: [item('completed', text)], usage };
  };
  let number = 0;
  const event = (type: string, fields: object) => {
    const sequence = { sequence_number: (number += 1), output_index: 0, content_index: 0 };
    return { type: `response.${type}`, item_id: 'msg_bench', ...sequence, ...fields };
  };
  return {
    path: '/v1/responses',
    plainRequest: request(false),
    streamRequest: request(true),
    plainAnswer: json(whole(PLAIN_TEXT)),
    opening: events(
      event('created', { response: running }),
      event('in_progress', { response: running }),
      event('output_item.added', { item: item('in_progress', null) }),
      event('content_part.added', { part: part('') }),
    ),
    token: events(event('output_text.delta', { delta: ' token', logprobs: [] })),
    closing: events(
      event('output_text.done', { text: TEXT, logprobs: [] }),
      event('content_part.done', { part: part(TEXT) }),
      event('output_item.done', { item: item('completed', TEXT) }),
      event('completed', { response: whole(TEXT) }),
    ),
    tokenMark: 'event: response.output_text.delta\n',
    endMark: 'event: response.completed\n',
  };
}

function messages(): Wire {
  const request = (stream: boolean) =>
    json({
      ...SETTINGS,
      stream,
      max_tokens: 512,
      system: WORDS.repeat(3),
      messages: [{ role: 'user', content: WORDS.repeat(12) }],
    });
  const usage = { input_tokens: 250, output_tokens: 200 };
  const ended = { stop_reason: 'end_turn', stop_sequence: null };
  const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench-model' };
  const index = 0;
  return {
    path: '/v1/messages',
    plainRequest: request(false),
    streamRequest: request(true),
    plainAnswer: json({
      ...message,
      content: [{ type: 'text', text: PLAIN_TEXT }],
      ...ended,
      usage,
    }),
    opening: events(
      { type: 'message_start', message: { ...message, content: [], usage } },
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    ),
    token: events({
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text: ' token' },
    }),
    closing: events(
      { type: 'content_block_stop', index },
      { type: 'message_delta', delta: ended, usage },
      { type: 'message_stop' },
    ),
    tokenMark: 'event: content_block_delta\n',
    endMark: 'event: message_stop\n',
  };
}

export const WIRES: Readonly<Record<Api, Wire>> = {
  chat: {
    path: CHAT_PATH,
    plainRequest: PLAIN_REQUEST,
    streamRequest: STREAM_REQUEST,
    plainAnswer: PLAIN_ANSWER,
    opening: ROLE_EVENT,
    token: TOKEN_EVENT,
    closing: LAST_EVENTS,
    tokenMark: '"content":" token"',
    endMark: 'data: [DONE]\n',
  },
  responses: responses(),
  messages: messages(),
};

/** Events of one stream as an upstream of the protocol sends it. */
export function eventsOf({ opening, closing }: Wire): number {
  return TOKENS + (opening + closing).split('\n\n').length - 1;
}
