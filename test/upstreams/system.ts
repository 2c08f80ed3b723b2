import type { FailureReason } from '#shared/reasons.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A host or an engine as it is known to answer; what is left out is as OpenAI does it. */
export interface System {
  /** With the version, where the system has changed since. */
  readonly name: string;
  /** Engines are asked as `local`, hosts as `hosted_a`. */
  readonly place: 'hosted_a' | 'local';
  /** How it tells any answer. */
  readonly manner: Manner;
  /** Single answers that its manner does not cover. */
  readonly oddities?: readonly Oddity[];
  /** Finish reasons that say that it gave up in the middle. */
  readonly gaveUp?: readonly string[];
  /** Errors behind a 200. */
  readonly failures?: readonly FailureEvent[];
  /** Its list of models, and how the gateway lists the first of them. */
  readonly lists?: { readonly body: Json | readonly Json[]; readonly model: Json };
}

/** As the lists of one place name it, without a manner where it streams as OpenAI does. */
export type Listed = Omit<System, 'manner' | 'place'> & Partial<Pick<System, 'manner'>>;

/** What differs from chat completions as OpenAI streams them. */
export interface Manner {
  /** In the deltas; `once` by default. */
  readonly role?: 'each' | 'empty in each' | 'none';
  /** Chunks before the first delta. */
  readonly before?: readonly Json[];
  /** Chunks behind the last one. */
  readonly behind?: readonly Json[];
  /** What the first delta has beside the role. */
  readonly opening?: Json;
  /** What each delta has beside its own. */
  readonly beside?: Json;
  /** What each chunk and a whole answer have beside their own. */
  readonly around?: Json;
  /** `finish_reason` while the answer goes on; null by default. */
  readonly unfinished?: '' | 'null' | 'absent';
  /** Names of finish reasons. */
  readonly finish?: Partial<
    Readonly<Record<'stop' | 'length' | 'tool_calls' | 'content_filter', string>>
  >;
  /** Where the reason stands: in a chunk of its own by default. */
  readonly finishAt?: 'last words' | 'twice';
  /** Where thoughts stand: in `reasoning_content` by default. */
  readonly reasoning?: 'reasoning' | 'both' | 'parts';
  readonly calls?: {
    readonly index?: 'zero' | 'none' | 'from one';
    readonly id?: 'each' | 'empty later' | 'none' | 'empty';
    readonly name?: 'each' | 'empty later';
    /** In pieces by default. */
    readonly arguments?: 'whole' | 'object';
    /** `tool_calls` is one object. */
    readonly isOne?: true;
  };
  /** Where the usage stands: in a chunk of its own behind the end by default. */
  readonly usage?: 'with the end' | 'in the choice' | 'each' | 'end again' | 'none';
  /** After the last event; `[DONE]` by default. */
  readonly end?: 'twice' | 'no blank line' | 'none';
  readonly lineEnd?: '\r\n' | '\r';
  /** Behind `data:`; a blank by default. */
  readonly blank?: '';
  /** Lines before the first event, and between two. */
  readonly life?: string;
  /** Lines of each event before its data. */
  readonly named?: string;
  /** Whether it was asked for or not. */
  readonly coding?: 'gzip' | 'br';
  /** The end of the connection ends the body. */
  readonly isClosing?: true;
  /** It answers whole whatever was asked. */
  readonly isWhole?: true;
  readonly contentType?: string;
}

/** What becomes of an answer. */
export type Fate =
  /** The caller gets it. Fields left out are empty; `finish` is `stop`. */
  | {
      readonly text?: string;
      readonly reasoning?: string;
      readonly calls?: readonly { readonly name: string; readonly arguments: Json }[];
      readonly finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
    }
  /** The next upstream is asked, for this reason. */
  | { readonly next: FailureReason }
  /** A caller that streams gets the text and an error; for a whole answer the next upstream is asked. */
  | { readonly broken: string; readonly means?: FailureReason };

export interface Oddity {
  readonly says: string;
  /** In this protocol, which the system speaks itself, and not in chat completions. */
  readonly native?: 'messages' | 'responses';
  /** Values of `data`, or lines as they come; `[DONE]` follows in chat completions. */
  readonly stream?: readonly (Json | string)[];
  /** Its stream has no `[DONE]`. */
  readonly isOpen?: true;
  /** In place of a stream too, where there is none. */
  readonly whole?: Json | readonly Json[] | string;
  readonly contentType?: string;
  readonly fate: Fate;
  /** Which tokens are counted; unchecked without it. */
  readonly tokens?: Json;
}

/** An event that is an error, as the first one of a stream or in its middle. */
export interface FailureEvent {
  /** The value of `data`, or lines as they come. */
  readonly event: Json | string;
  readonly means: FailureReason;
}
