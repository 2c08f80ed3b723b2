/**
 * What goes over the wire in the bench: one request and one answer of each kind, the same bytes every time, so that
 * load generator and fake upstream agree and every answer can be checked.
 */

/** Content events in a stream of each kind, as many as the request's `max_tokens`. */
export const TOKENS = { brief: 2, stream: 64, long: 512 } as const;
const WORDS = 'The quick brown fox jumps over the lazy dog and then takes a nap. ';
/** The text of an answer that is put together from a stream. */
export const ASSEMBLED_CONTENT = ' token'.repeat(TOKENS.stream);

/** Stands in a request body that asks for a stream. */
export const STREAM_FLAG = '"stream":true';

const MODEL = 'bench-model';
const json = (value: object) => Buffer.from(JSON.stringify(value));

/** About 1.2 KB, as a short conversation is. */
const request = (stream: boolean, tokens: number) =>
  json({
    model: MODEL,
    stream,
    temperature: 0.7,
    max_tokens: tokens,
    messages: [
      { role: 'system', content: WORDS.repeat(3) },
      { role: 'user', content: WORDS.repeat(12) },
    ],
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

/** The same text in as many pieces. */
export const WIRE = {
  path: '/v1/chat/completions',
  plainRequest: request(false, TOKENS.stream),
  streamRequests: {
    brief: request(true, TOKENS.brief),
    stream: request(true, TOKENS.stream),
    long: request(true, TOKENS.long),
  },
  plainAnswer: json({
    id: 'chatcmpl-bench0000000000000000000001',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'All is well here. '.repeat(40) },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 250, completion_tokens: 200, total_tokens: 450 },
    system_fingerprint: 'fp_bench',
  }),
  /** The event before the first piece, each piece, and the events behind the last. */
  opening: chatEvent({ role: 'assistant', content: '' }, null),
  token: chatEvent({ content: ' token' }, null),
  closing: `${chatEvent({}, 'stop')}data: [DONE]\n\n`,
} as const;

/** Of one stream as the upstream sends it: those of the content, the opening, the stop and the end. */
export const eventsOf = (tokens: number): number => tokens + 3;

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
export const streamBytes = (tokens: number): number =>
  WIRE.opening.length +
  firstTokenEvent(0n, 0n).length +
  (tokens - 1) * WIRE.token.length +
  WIRE.closing.length;
