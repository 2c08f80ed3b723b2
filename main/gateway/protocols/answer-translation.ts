import { isHeavyJson, parseJson } from '../../platform/json.ts';
import type { HttpError } from '../../platform/http/responses.ts';
import type { BegunBlocks } from './messages/begun.ts';
import {
  type DroppedFields,
  type ProtocolTranslation,
  type TranslatedExchange,
  type TranslatedStream,
  badResponse,
} from './translation/translation.ts';
import { type LongNames, withLongNames } from './translation/short-names.ts';
import { CHAT_STREAM } from './chat/endpoint.ts';
import { createFramer, dataOf, eventsOf, type Frames } from './sse.ts';

/** Turns the answer to a chat completion into the caller's protocol. */
export interface AnswerTranslator {
  /** A whole chat completion as a whole answer, or as all events of a stream. */
  whole(completion: Buffer, asStream: boolean): TranslatedWhole;
  /** @param begun of a message that broke off: only its rest is made */
  createStream(begun?: BegunBlocks): StreamTranslator;
  /** What the request lost on its way. */
  readonly dropped: DroppedFields;
}

export type TranslatedWhole =
  | { readonly kind: 'answer'; readonly body: Buffer }
  | { readonly kind: 'bad'; readonly detail: string };

/** As `TranslatedStream`, for events as they come over the wire. */
export interface StreamTranslator {
  push(frames: Frames): Buffer;
  end(): Buffer;
  readonly fail: (error: HttpError) => Buffer;
  ended(): 'no' | 'complete' | 'failed';
}

/** About 200,000 events of one token each; the last event repeats the whole answer. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;

const TOO_HEAVY = 'an answer of too many values';
const TOO_LONG = `The upstream sent over ${MAX_STREAM_BYTES} bytes.`;

export function createAnswerTranslator(
  translation: ProtocolTranslation,
  exchange: TranslatedExchange,
  { dropped, longNames }: { readonly dropped: DroppedFields; readonly longNames: LongNames },
): AnswerTranslator {
  const createStream = (begun?: BegunBlocks) =>
    streamTranslator(translation.createStream(exchange, begun), longNames);
  return {
    createStream,
    dropped,
    whole(completion, asStream) {
      const parsed = parseJson(completion.toString('utf8'));
      // Its syntax was checked as it arrived, so it is too heavy to be parsed.
      if (parsed === undefined) return { kind: 'bad', detail: TOO_HEAVY };
      if (asStream) return asEvents(completion, createStream());
      const answer = translation.answer(withLongNames(parsed, longNames), exchange);
      return answer.kind === 'answer'
        ? { kind: 'answer', body: Buffer.from(JSON.stringify(answer.body)) }
        : { kind: 'bad', detail: 'an answer that cannot be translated' };
    },
  };
}

/** For an engine that answers with JSON although a stream was asked for. */
function asEvents(completion: Buffer, stream: StreamTranslator): TranslatedWhole {
  const events = Buffer.from(CHAT_STREAM.asEvents?.(completion, true) ?? '');
  const frames = createFramer().push(events);
  const body = Buffer.concat([...(frames === null ? [] : [stream.push(frames)]), stream.end()]);
  return stream.ended() === 'complete'
    ? { kind: 'answer', body }
    : { kind: 'bad', detail: 'an answer that cannot be translated' };
}

function streamTranslator(stream: TranslatedStream, longNames: LongNames): StreamTranslator {
  let bytes = 0;

  function translated(event: Buffer): string {
    const data = dataOf(event)?.trim() ?? '';
    // A comment keeps the caller's connection alive as it did ours.
    if (data === '') return event[0] === COLON ? event.toString('utf8') : '';
    if (data === '[DONE]') return '';
    const chunk = parseJson(data);
    if (chunk !== undefined) return stream.push(withLongNames(chunk, longNames));
    return isHeavyJson(data) ? stream.fail(badResponse(`The upstream sent ${TOO_HEAVY}.`)) : '';
  }

  return {
    push(frames) {
      bytes += frames.bytes.length;
      if (bytes > MAX_STREAM_BYTES) return Buffer.from(stream.fail(badResponse(TOO_LONG)));
      return Buffer.from(eventsOf(frames).map(translated).join(''));
    },
    end: () => Buffer.from(stream.end()),
    fail: (error) => Buffer.from(stream.fail(error)),
    ended: () => stream.ended(),
  };
}

const COLON = 0x3a;
