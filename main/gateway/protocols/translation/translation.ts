import type { HttpError } from '../../../platform/http/responses.ts';
import type { Finish } from '../chat/chunks.ts';
import type { BegunBlocks } from '../messages/events.ts';
import type { ItemMemory, ItemSource } from '../responses/item-memory.ts';
import type { Frames, TypedEvent } from '../sse.ts';
import type { AnswerDelta, AnswerState } from './chat-answer.ts';
import type { ChatBody } from './conversation.ts';

/** Serves callers of one protocol from an upstream that only speaks chat completions. */
export interface ProtocolTranslation {
  /** `items` resolves references to earlier answers. */
  readonly toChat: (body: unknown, items: ItemSource | null) => TranslationResult;
  readonly stepsOf: (answer: BegunAnswer) => AnswerSteps;
  /** The answer of which these are all events. */
  readonly wholeOf: (events: readonly TypedEvent[]) => object;
}

/** A caller's request as a chat completion, or why it cannot be sent as one. */
export type TranslationResult =
  | {
      readonly kind: 'chat';
      readonly body: ChatBody;
      readonly dropped: DroppedFields;
      readonly functions: FunctionNames;
    }
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

/** The name of a function, and of its namespace if it is in one. */
export interface FunctionName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Functions whose callers know them by other names than upstreams are told, by the latter. */
export type FunctionNames = ReadonlyMap<string, FunctionName>;

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
  readonly functions: FunctionNames;
  /** Stores what later requests may refer to; null if nothing is stored. */
  readonly items: ItemMemory | null;
}

export interface BegunAnswer {
  readonly exchange: TranslatedExchange;
  /** What the upstream has said so far; the model is that of its first part. */
  readonly told: AnswerState;
  /** Nothing is added once the answer has failed. */
  readonly emit: (event: TypedEvent) => void;
  /** Fails the answer. */
  readonly refuse: (problem: string) => void;
  /** The blocks of a message that broke off, of which this is the rest. */
  readonly blocks: BegunBlocks | null;
}

/** Makes the events of an answer. */
export interface AnswerSteps {
  begin(): void;
  add(delta: AnswerDelta): void;
  /** Called if the deltas of a chunk have made no event. */
  wait?(): void;
  finish(finish: Finish): void;
  /** Calls `begin` first if the protocol cannot fail an answer that has not begun. */
  fail(error: HttpError, begin: () => void): void;
}

/** Turns the events of a chat completion into the caller's. */
export interface StreamTranslator {
  push(frames: Frames): Buffer;
  /** The upstream's stream has ended. An answer without a finish reason ends as a failure, never as a success. */
  end(): Buffer;
  /** Ends the stream with the protocol's own error event. */
  readonly fail: (error: HttpError) => Buffer;
  /** `complete` once the last event was returned, `failed` once an error was. */
  ended(): 'no' | 'complete' | 'failed';
}
