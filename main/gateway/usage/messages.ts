import type { MachineFigures, UsageFigures } from '#shared/usage.ts';
import type { RequestRow } from '#shared/live.ts';
import type { RequestPage, RequestsWanted } from '#shared/request-filter.ts';
import type { AskedAt } from './asked.ts';
import type { Increment } from './tally.ts';

/*
 * Messages between the gateway's thread and its database's thread. They are handled in order, so a read sees every
 * write that was sent before it.
 */

export interface UsageWorkerData {
  readonly path: string;
  readonly nowMs: number;
}

/** One transaction: all of it is stored or nothing. It is sent only once, so nothing is counted twice. */
export interface UsageWrite {
  readonly nowMs: number;
  readonly increments: readonly Increment[];
  /** The newest requests that have ended, oldest first. */
  readonly rows: readonly StoredRow[];
  readonly asked: readonly AskedAt[];
}

/** A request as it is stored. Made before it is sent: cloning the row takes longer than writing it as text. */
export interface StoredRow {
  readonly isDone: boolean;
  readonly json: string;
}

export const storedRow = (row: RequestRow): StoredRow => ({
  isDone: row.state === 'done',
  json: JSON.stringify(row),
});

const SPANS = ['minute', 'hour', 'day'] as const;

export type UsageSpan = (typeof SPANS)[number];

export interface HistoryQuery {
  readonly span: UsageSpan;
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Rows are summed over steps of this length. */
  readonly groupMs: number;
  readonly dayFrom: number;
  readonly monthFrom: number;
}

interface UpstreamAt {
  readonly at: number;
  readonly upstream: string;
  readonly figures: UsageFigures;
}

interface MachineAt {
  readonly at: number;
  /** Empty for all but the busiest machines together. */
  readonly provider: string;
  readonly figures: MachineFigures;
}

interface ModelAt {
  readonly at: number;
  /** Empty for all but those that answered most, and where an upstream chose it. */
  readonly model: string;
  readonly answers: number;
}

interface PartRow {
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  readonly figures: UsageFigures;
}

interface KeyRow {
  readonly key: string;
  readonly figures: UsageFigures;
}

/** A sum over one day. */
export interface DaySum {
  readonly name: string;
  /** When it began, in wall-clock milliseconds. */
  readonly day: number;
  readonly sum: number;
}

/** The sums of the last two months at the start, the oldest first. */
export interface UsageBefore {
  /** Money, in billionths, by upstream. */
  readonly spent: readonly DaySum[];
  /** By key. */
  readonly keyRequests: readonly DaySum[];
  readonly keyTokens: readonly DaySum[];
}

export const NOTHING_BEFORE: UsageBefore = { spent: [], keyRequests: [], keyTokens: [] };

export interface HistoryRows {
  readonly points: readonly UpstreamAt[];
  readonly machines: readonly MachineAt[];
  readonly models: readonly ModelAt[];
  readonly parts: readonly PartRow[];
  readonly keys: readonly KeyRow[];
  readonly today: UsageFigures;
  readonly thisMonth: UsageFigures;
}

/** What is read of the database, by one argument each. */
export interface UsageReads {
  history(query: HistoryQuery): HistoryRows;
  requests(wanted: RequestsWanted): RequestPage;
  /** Null if it is not stored. */
  request(id: string): RequestRow | null;
  /** What apps asked for in the 30 days before `nowMs`. */
  asked(nowMs: number): readonly AskedAt[];
}

export type ReadName = keyof UsageReads;
export type ReadBy<Name extends ReadName> = Parameters<UsageReads[Name]>[0];
export type UsageQuestion<Of extends ReadName = ReadName> = {
  [Name in ReadName]: readonly [read: Name, by: ReadBy<Name>];
}[Of];

export type UsageMessage =
  | { readonly kind: 'write'; readonly write: UsageWrite }
  /** Two upstreams have changed places, and what is stored goes with them. */
  | { readonly kind: 'swap'; readonly upstreams: readonly [string, string] }
  | { readonly kind: 'question'; readonly id: number; readonly question: UsageQuestion }
  | { readonly kind: 'close' };

export type UsageReply =
  | {
      readonly kind: 'opened';
      /** For people; null if there is none. */
      readonly warning: string | null;
      /** The newest requests, newest first, as JSON. */
      readonly rows: readonly string[];
      readonly before: UsageBefore;
    }
  | { readonly kind: 'unusable'; readonly message: string }
  /** Why the write failed; null if it succeeded. */
  | { readonly kind: 'written'; readonly problem: string | null }
  /** Null if it cannot be read. */
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown };
