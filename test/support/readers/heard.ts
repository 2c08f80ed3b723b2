import type { Json } from './events.ts';

/** What a client makes of a response, in whichever protocol. */
export type Finish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface Heard {
  /** `whole`: it says that it is; `broken`: it says that it is not; `open`: neither. */
  readonly end: 'whole' | 'broken' | 'open';
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly HeardCall[];
  /** Null without one, or with one that is none of the right ones. */
  readonly finish: Finish | null;
  /** One entry for each time that it was told. */
  readonly usages: readonly HeardUsage[];
  /** What no client of the protocol expects. */
  readonly faults: readonly string[];
}

export interface HeardCall {
  readonly id: string;
  readonly name: string;
  /** JSON, or the beginning of it. */
  readonly arguments: string;
}

/** Null where the upstream told nothing. */
export type HeardUsage = { readonly input: number; readonly output: number } | null;

/** What a reader fills. */
export type Draft = {
  -readonly [Field in keyof Heard]: Heard[Field] extends readonly (infer T)[] ? T[] : Heard[Field];
};

export function newDraft(): Draft {
  return { end: 'open', reasoning: '', text: '', calls: [], finish: null, usages: [], faults: [] };
}

/** Reads one value of a response into the draft. */
export interface Reader {
  /** The events of a stream. */
  readonly event: (name: string, data: string) => void;
  readonly heard: () => Heard;
}

/** The figures of a usage under their names in a protocol. */
export function usageIn(usage: Json, input: string, output: string): HeardUsage {
  const [asked, said] = [usage[input], usage[output]];
  return typeof asked === 'number' && typeof said === 'number'
    ? { input: asked, output: said }
    : null;
}
