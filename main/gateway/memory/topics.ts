import type { Breaker, DecayingMean } from '../circuits/breaker.ts';
import type { ListedModel } from '../upstream/listed-models.ts';

/* What is remembered of an upstream or a machine, for how long, and what ends it earlier. */

/** Why a whole upstream is left alone for a time although its circuit admits, and last why a single model is. */
export const EXCLUSION_REASONS = [
  'rate_limited',
  'quota',
  'credentials',
  'busy',
  'model_not_found',
] as const;

export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

/** Times in milliseconds since the epoch. */
export interface CheckOutcome {
  readonly at: number;
  /** Null if it answered. */
  readonly failure: string | null;
  /** Whether it answered with a completion, not only with a list of models. */
  readonly isTest: boolean;
}

export interface Setback {
  readonly at: number;
  readonly reason: string;
  readonly by: 'request' | 'check';
}

export interface CheckFacts {
  /** Anything older belongs to earlier settings. */
  readonly since: number;
  readonly last: CheckOutcome | null;
  readonly lastFailedAt: number | null;
  /** The last failure that its circuit does not count: of a test, or a refusal that only a person can end. */
  readonly setback: Setback | null;
}

/** Tokens read, and the time that it took, of which older readings count for less. */
export interface Reading {
  readonly tokens: number;
  readonly ms: number;
}

export interface ReadPrompt {
  /** As it was asked for. */
  readonly model: string;
  /** In clock ticks. */
  readonly readAt: number;
}

/** A turn of a conversation. */
export interface ReadTurn {
  readonly model: string;
  /** As of a chain. */
  readonly keys: readonly number[];
  readonly tools: number;
  /** Tokens of its prompt. */
  readonly input: number;
  /** Its model has left the memory since. */
  readonly isUnloaded: boolean;
  /** In clock ticks. */
  readonly readAt: number;
}

/** Tokens for each that is usual, exponentially weighted. */
export interface TextRate {
  readonly samples: number;
  readonly mean: number;
  readonly variance: number;
}

/** The values of each topic, by key. */
export interface Values {
  /** It has no such endpoint; by path. */
  readonly lacks: true;
  /** It does not take a request as it is; by model and what is changed for it. */
  readonly refuses: { readonly model: string; readonly change: string };
  /** It told the usage of a stream when it was asked; by model. */
  readonly tells: true;
  /** How fast it reads prompts; by model. */
  readonly rate: Reading;
  /** The beginnings of prompts that it has read; by their hash. */
  readonly prefixes: ReadPrompt;
  /** The turns that it has read; by the hash of their end, of their first messages, and of what the app calls them. */
  readonly turns: ReadTurn;
  /** How many tokens its texts have; by model. */
  readonly text_rate: TextRate;
  /** The longest prompt that it has read as a whole, which its window takes; by model. */
  readonly longest: { readonly tokens: number };
  /** A report of fewer tokens than the prompt must have had; by model. */
  readonly cut: { readonly tokens: number; readonly promptBytes: number };
  /** Where it cuts prompts, and what it said of its window then; by model. */
  readonly window: { readonly tokens: number; readonly declared: number | null };
  /** A prompt was not sent because it has more tokens than its window; by model. */
  readonly too_long: true;
  /** Why it is left alone for a time although its circuit admits; by reason, and for a missing model by that. */
  readonly left_alone: { readonly reason: ExclusionReason; readonly model: string | null };
  /** Its circuit, and the epoch that began with the last reset. */
  readonly circuit: { readonly breaker: Breaker; readonly epoch: number };
  /** Its list of models, and when it is asked again, in clock ticks. */
  readonly models: { readonly list: readonly ListedModel[]; readonly askAgainAt: number };
  /** What checks and tests have shown. */
  readonly seen: CheckFacts;
  /** How long its answers take. */
  readonly latency: { readonly mean: DecayingMean; readonly samples: number };
  /** It reports how much of a prompt it had in its cache. */
  readonly tells_reuse: true;
}

export type Topic = keyof Values;

/** Empty in a topic of one entry. */
export type Key = string | number;

interface Rule {
  /** How long an entry holds; Infinity: until something ends it. */
  readonly ms: number;
  /** Entries of one upstream: callers choose the names of models. The one that was written longest ago is dropped. */
  readonly max: number;
  /** It is a count, which another address does not end. */
  readonly lasts?: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const TOPICS: { readonly [T in Topic]: Rule } = {
  // An engine may be replaced by a newer one.
  lacks: { ms: 10 * MINUTE_MS, max: 16 },
  // A host may have learnt a field, an organisation may be verified: then the refusal is tried again.
  refuses: { ms: HOUR_MS, max: 500 },
  tells: { ms: Infinity, max: 64 },
  rate: { ms: Infinity, max: 64 },
  text_rate: { ms: Infinity, max: 64 },
  longest: { ms: 24 * HOUR_MS, max: 64 },
  cut: { ms: HOUR_MS, max: 64 },
  // The owner may have set a larger one meanwhile.
  window: { ms: HOUR_MS, max: 64 },
  too_long: { ms: HOUR_MS, max: 64 },
  // Sixty for each conversation, as a long one has.
  prefixes: { ms: HOUR_MS, max: 8192 },
  turns: { ms: HOUR_MS, max: 1024 },
  tells_reuse: { ms: Infinity, max: 1 },
  // Even what only a person can fix is tried again then.
  left_alone: { ms: 10 * MINUTE_MS, max: 54 },
  circuit: { ms: Infinity, max: 1, lasts: true },
  models: { ms: Infinity, max: 1 },
  seen: { ms: Infinity, max: 1 },
  latency: { ms: Infinity, max: 1, lasts: true },
};
