/**
 * What goes over the wire in the bench: one request and one answer of each kind, the same bytes every time, so that
 * load generator and fake upstream agree and every answer can be checked.
 */

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

/** Content events in one stream. */
export const TOKENS = 64;
const WORDS = 'The quick brown fox jumps over the lazy dog and then takes a nap. ';
/** The text of an answer that is not streamed, and of one put together from a stream. */
export const PLAIN_TEXT = 'All is well here. '.repeat(40);
export const ASSEMBLED_CONTENT = ' token'.repeat(TOKENS);

/** Stands in a request body that asks for a stream, and before the pace that it asks for. */
export const STREAM_FLAG = '"stream":true';
export const PACE_KEY = '"bench_pace_ms":';

const MODEL = 'bench-model';
const USAGE = { input_tokens: 250, output_tokens: 200, total_tokens: 450 };
const json = (value: object) => Buffer.from(JSON.stringify(value));

/** Both requests, about 1.2 KB each, as a short conversation is. */
const requests = (rest: object) => ({
  plainRequest: json({ model: MODEL, stream: false, temperature: 0.7, ...rest }),
  streamRequest: json({ model: MODEL, stream: true, temperature: 0.7, ...rest }),
});

const chatEvent = (delta: object, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench0000000000000000000002',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: MODEL,
    system_fingerprint: 'fp_bench',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  })}\n\n`;

const chat: Wire = {
  path: '/v1/chat/completions',
  ...requests({
    max_tokens: 512,
    messages: [
      { role: 'system', content: WORDS.repeat(3) },
      { role: 'user', content: WORDS.repeat(12) },
    ],
  }),
  plainAnswer: json({
    id: 'chatcmpl-bench0000000000000000000001',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: PLAIN_TEXT },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 250, completion_tokens: 200, total_tokens: 450 },
    system_fingerprint: 'fp_bench',
  }),
  opening: chatEvent({ role: 'assistant', content: '' }, null),
  token: chatEvent({ content: ' token' }, null),
  closing: `${chatEvent({}, 'stop')}data: [DONE]\n\n`,
  tokenMark: '"content":" token"',
  endMark: 'data: [DONE]\n',
};

const typedEvents = (
  ...all: readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[]
) => all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

function responses(): Wire {
  const head = {
    id: 'resp_bench000000000000000000000000001',
    object: 'response',
    created_at: 1_790_000_000,
    model: MODEL,
  };
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (status: string, content: readonly object[]) => {
    return { type: 'message', id: 'msg_bench', status, role: 'assistant', content };
  };
  const response = (status: string, output: readonly object[], usage: object | null) => {
    return { ...head, status, output, usage };
  };
  const running = response('in_progress', [], null);
  const whole = (text: string) => response('completed', [item('completed', [part(text)])], USAGE);
  let number = 0;
  const event = (type: string, fields: object) => {
    const sequence = { sequence_number: (number += 1), output_index: 0, content_index: 0 };
    return { type: `response.${type}`, item_id: 'msg_bench', ...sequence, ...fields };
  };
  return {
    path: '/v1/responses',
    ...requests({ max_output_tokens: 512, instructions: WORDS.repeat(3), input: WORDS.repeat(12) }),
    plainAnswer: json(whole(PLAIN_TEXT)),
    opening: typedEvents(
      event('created', { response: running }),
      event('in_progress', { response: running }),
      event('output_item.added', { item: item('in_progress', []) }),
      event('content_part.added', { part: part('') }),
    ),
    token: typedEvents(event('output_text.delta', { delta: ' token', logprobs: [] })),
    closing: typedEvents(
      event('output_text.done', { text: ASSEMBLED_CONTENT, logprobs: [] }),
      event('content_part.done', { part: part(ASSEMBLED_CONTENT) }),
      event('output_item.done', { item: item('completed', [part(ASSEMBLED_CONTENT)]) }),
      event('completed', { response: whole(ASSEMBLED_CONTENT) }),
    ),
    tokenMark: 'event: response.output_text.delta\n',
    endMark: 'event: response.completed\n',
  };
}

function messages(): Wire {
  const usage = { input_tokens: 250, output_tokens: 200 };
  const ended = { stop_reason: 'end_turn', stop_sequence: null };
  const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL };
  const content = [{ type: 'text', text: PLAIN_TEXT }];
  const delta = { type: 'text_delta', text: ' token' };
  return {
    path: '/v1/messages',
    ...requests({
      max_tokens: 512,
      system: WORDS.repeat(3),
      messages: [{ role: 'user', content: WORDS.repeat(12) }],
    }),
    plainAnswer: json({ ...message, content, ...ended, usage }),
    opening: typedEvents(
      { type: 'message_start', message: { ...message, content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ),
    token: typedEvents({ type: 'content_block_delta', index: 0, delta }),
    closing: typedEvents(
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: ended, usage },
      { type: 'message_stop' },
    ),
    tokenMark: 'event: content_block_delta\n',
    endMark: 'event: message_stop\n',
  };
}

export const WIRES: Readonly<Record<Api, Wire>> = {
  chat,
  responses: responses(),
  messages: messages(),
};

/** Events of one stream as an upstream of the protocol sends it. */
export function eventsOf({ opening, closing }: Wire): number {
  return TOKENS + (opening + closing).split('\n\n').length - 1;
}

/** A request of `bytes` bytes. */
export function requestOfBytes(bytes: number): Buffer {
  const request = (content: string) =>
    JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] });
  return Buffer.from(request('x'.repeat(Math.max(0, bytes - request('').length))));
}

/** A request for a stream whose events come `paceMs` apart, whatever the fake upstream was started with. */
export function requestAtPace(paceMs: number): Buffer {
  return Buffer.from(chat.streamRequest.toString().replace('{', `{${PACE_KEY}${paceMs},`));
}

const STAMP_DIGITS = 18;
/** Stands before the two times in the first content event of a chat. */
export const STAMP_KEY = '"stamps":"';
/** Bytes of the two times and the comma between them. */
export const STAMP_BYTES = 2 * STAMP_DIGITS + 1;

/** The first content event says when the upstream had the request, and when it sent this. */
export function firstTokenEvent(receivedNs: bigint, sentNs: bigint): string {
  const [received, sent] = [receivedNs, sentNs].map((ns) => String(ns).padStart(STAMP_DIGITS, '0'));
  return chatEvent({ content: ' token' }, null, { stamps: `${received},${sent}` });
}

/** How long the upstream took for the first token by its own clock, from the text of `stamps`. */
export function thinkingNs(stamps: string): bigint {
  const [received, sent] = stamps.split(',');
  return BigInt(sent ?? 0) - BigInt(received ?? 0);
}

/** Bytes of one whole stream of a chat, without HTTP's own. */
export const STREAM_BYTES =
  chat.opening.length +
  firstTokenEvent(0n, 0n).length +
  (TOKENS - 1) * chat.token.length +
  chat.closing.length;
