import type { MachineNames, UpstreamId } from './ids.ts';

/** Tokens of an exchange with an upstream. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  /** The part of `input` that the upstream had in its cache. */
  readonly cached: number;
  /** True if the upstream reported none, and they were estimated from bytes and events. */
  readonly estimated: boolean;
}

/** Why an engine read a prompt: the conversation is new or came elsewhere, the cache was lost, or what changed in it. */
export const READ_REASONS = [
  'first_turn',
  'another_machine',
  'another_model',
  'unloaded',
  'evicted',
  'tools',
  'system',
  'reminder',
  'user',
  'assistant',
  'tool',
  'message',
] as const;

export type ReadReason = (typeof READ_REASONS)[number];

export interface TurnReading {
  readonly why: ReadReason;
  /** Tokens that had been read for an earlier turn; 0 in the first. */
  readonly again: number;
  /** Position of the message that has changed, from 1; null if none has, or it is unknown. */
  readonly message: number | null;
}

/** Tokens that were read again for one reason. */
export interface Reread {
  readonly why: ReadReason;
  readonly turns: number;
  readonly tokens: number;
}

export const HISTORY_RANGES = ['hour', 'day', 'week', 'month'] as const;

export type HistoryRange = (typeof HISTORY_RANGES)[number];

/** What is counted; times in milliseconds, money in billionths of the currency. */
export const FIGURE_NAMES = [
  /** Requests, or calls of one upstream. */
  'calls',
  'fallbacks',
  'failures',
  'inputTokens',
  'outputTokens',
  /** The input tokens that were found in a cache; the others were read. */
  'cachedTokens',
  /** The tokens of input and output that no upstream reported. */
  'estimatedTokens',
  /** Sum over `firstTokens` calls, those whose answers were streamed. */
  'firstTokenMs',
  'firstTokens',
  /** The time from first to last token, over the calls with a rate. */
  'outputMs',
  /** Output tokens of those calls after their first. */
  'timedTokens',
  'spentNano',
  /** What the tokens of `local` would have cost. */
  'savedNano',
  /** Thousandths of a joule that the GPUs took for the tokens of `local`; nothing where it is unknown. */
  'energyMj',
  /** What that cost; to be taken off what was saved. */
  'energyNano',
] as const;

export type FigureName = (typeof FIGURE_NAMES)[number];
export type UsageFigures = Readonly<Record<FigureName, number>>;

/** Totals of an upstream's calls in the range. */
export interface HistoryPart {
  readonly upstream: UpstreamId;
  readonly provider: string | null;
  /** As sent; null if the upstream chose it. */
  readonly model: string | null;
  readonly figures: UsageFigures;
}

/** Totals of the requests with a key in the range. */
export interface HistoryKey {
  readonly key: string;
  readonly figures: UsageFigures;
}

export interface HistoryPoint {
  /** Start of the step, in milliseconds since the epoch. */
  readonly at: number;
  /** As callers saw it: requests, and everything their calls used. */
  readonly figures: UsageFigures;
  readonly upstreams: Readonly<Partial<Record<UpstreamId, UsageFigures>>>;
}

/** `GET /api/v1/history` */
export interface HistoryReport extends UsageHistory {
  /** The names of the machines in it; removed machines are left out. */
  readonly names: MachineNames;
}

/** Usage as it is stored, with ids instead of names. */
export interface UsageHistory {
  readonly range: HistoryRange;
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Steps in which nothing happened are left out. */
  readonly points: readonly HistoryPoint[];
  /** At most 200, most tokens first. */
  readonly parts: readonly HistoryPart[];
  /** At most 200, most tokens first, like `parts`. */
  readonly keys: readonly HistoryKey[];
  /** Today's, most tokens first. */
  readonly rereads: readonly Reread[];
  readonly today: UsageFigures;
  readonly thisMonth: UsageFigures;
  readonly currency: string;
  /** Why usage is not stored; null while it is. */
  readonly problem: string | null;
}

/** The owner is warned from this share of a budget on, in the log and in the window. */
export const WARNED_SHARE = 0.8;
