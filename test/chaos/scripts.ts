import { MESSAGES_TRANSLATION } from '../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../main/gateway/protocols/translation/translation.ts';
import { cut } from '../support/pieces.ts';
import { streamOf } from '../support/translated.ts';
import { chunksOf } from '../upstreams/speech.ts';
import type { Protocol } from '../support/readers/readers.ts';
import { type Answer, answerOf } from './answers.ts';
import { type Draws, drawsFor } from '../support/draws.ts';
import { EMPTY_STREAMS, type Fault, type Refusal, REFUSES_PARTIAL, refusalOf } from './faults.ts';
import { type ChaosRequest, MODEL } from './requests.ts';

/** One call to an upstream. */
export interface Call {
  readonly upstream: string;
  readonly request: ChaosRequest;
  /** How many calls of this request the upstream had before. */
  readonly number: number;
  readonly protocol: Protocol;
  readonly body: Readonly<Record<string, unknown>>;
  /** The partial answer to continue; null for none. */
  readonly partial: string | null;
}

/** All that an upstream sends, and when. */
export interface Script {
  readonly name: string;
  /** Null: nothing is sent. */
  readonly head: Pick<Refusal, 'status' | 'headers'> | null;
  /** What is sent at once, and the time before it; null: none, but it is sent by itself. */
  readonly pieces: readonly { readonly bytes: Buffer; readonly waitMs: number | null }[];
  readonly end: 'end' | 'reset' | 'close' | 'silence';
  /** All of what was asked for comes, and in time. */
  readonly isRight: boolean;
}

const STREAM_TYPES = ['text/event-stream', 'text/event-stream', 'application/json', ''];
const CREATED = 1_700_000_000;

export function scriptOf(call: Call, fault: Fault): Script {
  const draws = drawsFor(call.request.seed, call.request.n, call.upstream, call.number, 'script');
  const type = draws.pick(STREAM_TYPES);
  const head = { status: 200, headers: type === '' ? {} : { 'content-type': type } };
  const broken = draws.pick(['close', 'reset'] as const);
  const say = (name: string, text: string | Buffer, rest: Partial<Script> = {}): Script => ({
    name,
    head,
    pieces: paced(Buffer.from(text), draws),
    end: 'end',
    isRight: false,
    ...rest,
  });
  if (call.partial !== null && draws.happens(0.02))
    return say('refuses to continue', REFUSES_PARTIAL.body, { head: REFUSES_PARTIAL });
  switch (fault) {
    case 'reset':
      return say(fault, '', { head: null, end: broken });
    case 'hang':
      return say(fault, '', { head: draws.pick([head, null]), end: 'silence' });
    case 'refusal': {
      const refusal = refusalOf(draws);
      return say(`${fault} ${refusal.status}`, refusal.body, { head: refusal });
    }
    case 'empty':
      return say(fault, draws.pick(EMPTY_STREAMS));
    default:
  }
  const events = eventsOf(call, draws);
  const bytes = Buffer.from(events.join(''));
  const sent = draws.below(bytes.length);
  const some = `${fault} after ${sent} of ${bytes.length} bytes`;
  switch (fault) {
    case 'none':
      return say(fault, bytes, { isRight: true });
    case 'cut':
      return say(some, bytes.subarray(0, sent), { end: broken });
    case 'clean_end':
      return say(some, bytes.subarray(0, sent));
    case 'silence':
      return say(some, bytes.subarray(0, sent), { end: 'silence' });
    case 'error_event':
    case 'done_without_finish': {
      // The last two events of a chat completion are its usage and its end, and the one before has the finish reason.
      const begun = events.slice(0, draws.below(Math.max(1, events.length - 3)));
      const last = fault === 'error_event' ? ERROR_EVENTS[call.protocol] : DONE;
      return say(fault, begun.join('') + last);
    }
  }
}

const DONE = 'data: [DONE]\n\n';
const ERROR = '{"error":{"message":"out of memory","type":"server_error","code":500}}';
const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };

const FAILED = { type: 'response.failed', sequence_number: 1, response: { status: 'failed' } };

/** As OpenAI, Anthropic and OpenAI's Responses report one. */
const ERROR_EVENTS: Readonly<Record<Protocol, string>> = {
  chat: `data: ${ERROR}\n\n`,
  messages: `event: error\ndata: ${JSON.stringify({ type: 'error', error: OVERLOADED })}\n\n`,
  responses: `event: response.failed\ndata: ${JSON.stringify(FAILED)}\n\n`,
};

/** Cuts bytes in the middle of characters too. Some first words take longer than the hedge delay, none a timeout. */
function paced(bytes: Buffer, draws: Draws): Script['pieces'] {
  if (bytes.length === 0) return [];
  const places = Array.from({ length: draws.pick([0, 0, 3, 12]) }, () => draws.below(bytes.length));
  const from = draws.below(bytes.length);
  if (draws.happens(0.1)) for (let at = 0; at < 40; at += 1) places.push(from + at);
  const isLate = draws.happens(0.1);
  const slow = draws.pick([0, 0, 0, 0.3]);
  return cut(bytes, places).map((piece, at) => {
    if (at === 0 && isLate) return { bytes: piece, waitMs: draws.below(500) };
    return { bytes: piece, waitMs: at < 10 && draws.happens(slow) ? draws.below(80) : null };
  });
}

/** Null for chat completions, from which the other protocols are made. */
const NATIVE: Readonly<Record<Protocol, ProtocolTranslation | null>> = {
  chat: null,
  messages: MESSAGES_TRANSLATION,
  responses: RESPONSES_TRANSLATION,
};

/** The part of the right answer that is asked for. */
function missingOf({ request, partial }: Call): Answer {
  const answer = answerOf(request);
  return partial === null
    ? answer
    : { ...answer, reasoning: '', text: answer.text.slice(partial.length) };
}

/** The answer as events, between which it may break off. */
function eventsOf(call: Call, draws: Draws): readonly string[] {
  const pieceChars = draws.pick([3, 8, 30, 10_000]);
  const lineEnd = draws.pick(['\n', '\n', '\r\n']);
  const answer = missingOf(call);
  const said = { ...answer, usage: { ...answer.usage, cached: 0 } };
  // Cut between UTF-16 units, inside a character too, as engines do.
  const pieces = (whole: string) => {
    const all: string[] = [];
    for (let at = 0; at < whole.length; at += all.at(-1)?.length ?? 0)
      all.push(whole.slice(at, at + 1 + draws.below(2 * pieceChars)));
    return all;
  };
  const id = `${call.upstream}-${call.request.n}-${call.number}`;
  const chunks = chunksOf(said, { around: { id, model: MODEL } }, { pieces });
  const native = NATIVE[call.protocol];
  const exchange = { request: call.body, id, createdAt: CREATED, model: MODEL };
  const stream = native === null ? null : streamOf(native, exchange);
  const told =
    stream === null
      ? [...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), DONE]
      : [...chunks.map((each) => stream.push(each)), stream.end()];
  return told.map((text) => text.replaceAll('\n', lineEnd));
}
