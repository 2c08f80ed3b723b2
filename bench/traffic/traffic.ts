/**
 * What goes over the wire in the bench: one request and one answer of each kind, the same bytes
 * every time, so that load generator and fake upstream agree and every answer can be checked.
 */

/** The path that targets are asked on, and the fake upstream as well. */
export const CHAT_PATH = '/v1/chat/completions';

/** Content events in one stream; a role event comes before them, a finish and `[DONE]` after. */
export const TOKENS = 64;

export const WORDS = 'The quick brown fox jumps over the lazy dog and then takes a nap. ';
/** The text of an answer that is not streamed. */
export const PLAIN_TEXT = 'All is well here. '.repeat(40);

/** About 1.2 KB, as a short conversation is; the flag is what tells the fake upstream what to do. */
function requestBody(stream: boolean): Buffer {
  return Buffer.from(
    JSON.stringify({
      model: 'bench-model',
      stream,
      temperature: 0.7,
      max_tokens: 512,
      messages: [
        { role: 'system', content: WORDS.repeat(3) },
        { role: 'user', content: WORDS.repeat(12) },
      ],
    }),
  );
}

/** A request of `bytes` bytes. */
export function requestOfBytes(bytes: number): Buffer {
  const request = (content: string) =>
    JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content }] });
  return Buffer.from(request('x'.repeat(Math.max(0, bytes - request('').length))));
}

/** A request for a stream whose events come `paceMs` apart, whatever the fake upstream was started with. */
export function requestAtPace(paceMs: number): Buffer {
  return Buffer.from(STREAM_REQUEST.toString().replace('{', `{${PACE_KEY}${paceMs},`));
}

/** Stands before the pace that a request asks for. */
export const PACE_KEY = '"bench_pace_ms":';

/** Stands in a request body that asks for a stream. */
export const STREAM_FLAG = '"stream":true';

export const PLAIN_REQUEST = requestBody(false);
export const STREAM_REQUEST = requestBody(true);

/** The JSON answer, about 1 KB. */
export const PLAIN_ANSWER = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench0000000000000000000001',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'bench-model',
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
);

function event(delta: unknown, finish: string | null, more: Record<string, unknown> = {}): string {
  const chunk = {
    id: 'chatcmpl-bench0000000000000000000002',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'bench-model',
    system_fingerprint: 'fp_bench',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const STAMP_DIGITS = 18;
/** Stands before the two times in the first content event. */
export const STAMP_KEY = '"stamps":"';
/** Bytes of the two times and the comma between them. */
export const STAMP_BYTES = 2 * STAMP_DIGITS + 1;

const stampText = (ns: bigint) => ns.toString().padStart(STAMP_DIGITS, '0');

export const ROLE_EVENT = event({ role: 'assistant', content: '' }, null);
export const TOKEN_EVENT = event({ content: ' token' }, null);
/** The last two events, which follow the last token at once. */
export const LAST_EVENTS = `${event({}, 'stop')}data: [DONE]\n\n`;

/** The first content event says when the upstream had the request, and when it sent this. */
export function firstTokenEvent(receivedNs: bigint, sentNs: bigint): string {
  const stamps = `${stampText(receivedNs)},${stampText(sentNs)}`;
  return event({ content: ' token' }, null, { stamps });
}

/** How long the upstream took for the first token by its own clock, from the text of `stamps`. */
export function thinkingNs(stamps: string): bigint {
  const [received, sent] = stamps.split(',');
  return BigInt(sent ?? 0) - BigInt(received ?? 0);
}

/** Bytes of one whole stream, without HTTP's own. */
export const STREAM_BYTES =
  ROLE_EVENT.length +
  firstTokenEvent(0n, 0n).length +
  (TOKENS - 1) * TOKEN_EVENT.length +
  LAST_EVENTS.length;

/** Characters of an assembled answer's text. */
export const ASSEMBLED_CONTENT = ' token'.repeat(TOKENS);
