import { anthropicErrorType } from '#shared/errors.ts';
import { type HttpError, errorBodyFrom } from '../../../platform/http/responses.ts';
import type { BegunBlocks } from '../messages/events.ts';
import type { ItemMemory, ItemSource } from '../responses/history.ts';
import type { Frames } from '../sse.ts';
import type { ChatBody } from './conversation.ts';

/** A caller's request as a chat completion, or why it cannot be sent as one. */
export type TranslationResult =
  | { readonly kind: 'chat'; readonly body: ChatBody; readonly dropped: DroppedFields }
  | Untranslatable;

/** `unsupported`: an upstream that speaks the protocol could serve it; `bad_request`: nobody could. */
export interface Untranslatable {
  readonly kind: 'bad_request' | 'unsupported';
  readonly message: string;
  readonly param: string | null;
}

/** Fields that chat completions have no place for, and without which the answer is still one to the request. */
export interface DroppedFields {
  /** The first ones, as in `tools[0].new_field` or, of a whole object, `tools[1].type=web_search`; safe for a header. */
  readonly named: readonly string[];
  /** The number of those that are not named. */
  readonly others: number;
}

/** Facts for an answer that the upstream does not supply. */
export interface TranslatedExchange {
  /** The caller's parsed body; some answers repeat its settings. */
  readonly request: unknown;
  /** Unique among all requests; the ids in the answer are derived from it. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** Reported if the upstream reports no model. */
  readonly model: string;
  /** Stores what later requests may refer to; null if nothing is stored. */
  readonly items: ItemMemory | null;
}

/** A whole answer in the caller's protocol, or why the upstream's answer cannot be translated. */
type WholeAnswer =
  | { readonly kind: 'answer'; readonly body: object }
  | { readonly kind: 'bad_response'; readonly message: string };

interface TranslatedEvents<Input, Events> {
  push(input: Input): Events;
  /** The upstream's stream has ended. An answer without a finish reason ends as a failure, never as a success. */
  end(): Events;
  /** Ends the stream with the protocol's own error event. */
  readonly fail: (error: HttpError) => Events;
  /** `complete` once the last event was returned, `failed` once an error was. */
  ended(): 'no' | 'complete' | 'failed';
}

/** Turns the chunks of a chat completion, the parsed `data` of one event each, into the text of the caller's events. */
export type TranslatedStream = TranslatedEvents<unknown, string>;

/** The same, for events as they come over the wire. */
export type StreamTranslator = TranslatedEvents<Frames, Buffer>;

/** Serves callers of one protocol from an upstream that only speaks chat completions. */
export interface ProtocolTranslation {
  /** `items` resolves references to earlier answers. */
  readonly toChat: (body: unknown, items: ItemSource | null) => TranslationResult;
  /** `completion` is a parsed chat completion. */
  answer(completion: unknown, exchange: TranslatedExchange): WholeAnswer;
  /** @param begun of a message that broke off: only its rest is made */
  createStream(exchange: TranslatedExchange, begun?: BegunBlocks): TranslatedStream;
  readonly errorBody: (error: HttpError) => object;
}

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

export function badResponse(message: string): HttpError {
  return { status: 502, code: 'upstream_bad_response', message };
}

export const openAiError = (error: HttpError) => errorBodyFrom(error, 'gateway');

export function anthropicError({ status, message, code }: HttpError) {
  const type = anthropicErrorType(status);
  const error = { type, message, code };
  return { type: 'error', error, request_id: null, src: 'gateway' } as const;
}
