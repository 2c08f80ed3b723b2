import {
  type LiveEvent,
  type Outcome,
  outcomeOf,
  OUTCOMES,
  type RequestRow,
} from '#shared/live.ts';
import { machinesIn } from '#shared/machine-names.ts';
import {
  countsOf,
  FACETS,
  facetsOf,
  KEPT_PER_OUTCOME,
  matchesFilter,
  type RequestPage,
  type RequestQuery,
} from '#shared/request-filter.ts';
import {
  FIGURE_NAMES,
  type FigureName,
  type HistoryRange,
  type Reread,
  type UsageFigures,
} from '#shared/usage.ts';
import { dayOf, monthOf } from '../../platform/clock.ts';

/* What the recorder and the database thread send each other. */

/** What figures are counted for: a minute, and what was called during it. */
export interface UsagePlace {
  /** The start of the minute, in wall-clock milliseconds. */
  readonly at: number;
  /** Empty for requests as callers see them. */
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  /** Name of the key, for requests with that key; empty for all requests. */
  readonly key: string;
}

export interface Increment {
  readonly place: UsagePlace;
  readonly figures: Record<FigureName, number>;
}

export const NO_USAGE: UsageFigures = Object.fromEntries(
  FIGURE_NAMES.map((name) => [name, 0]),
) as Record<FigureName, number>;

/** Of each figure, a whole number that is stored exactly. */
export const MAX_FIGURE = Number.MAX_SAFE_INTEGER;

/** One transaction: all of it is stored or nothing. It is sent again only after a failure, so nothing is counted twice. */
export interface UsageWrite {
  readonly nowMs: number;
  readonly increments: readonly Increment[];
  /** The newest requests that have ended, oldest first. */
  readonly rows: readonly StoredRow[];
}

/** A request as it is stored. Made before it is sent: cloning the row takes longer than writing it as text. */
export type StoredRow = ReturnType<typeof storedRow>;

export const storedRow = (row: RequestRow) => ({
  pot: potOf(row),
  requested: requestedModelOf(row),
  rereads: rereadsOf(row),
  json: JSON.stringify(rowWithoutWords(row)),
});

/** Of what apps asked for, a month is all that anybody looks back. */
export const REQUESTED_DAYS = 30;

/** Requests for one name that went to one place. */
export interface RequestedModel {
  readonly name: string;
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  /** Of the last one, in milliseconds since the epoch. */
  readonly lastAt: number;
}

/** Where a request that has ended went; null if it named no model. */
function requestedModelOf(row: RequestRow): RequestedModel | null {
  if (row.model === null || row.model === '') return null;
  const attempt = row.attempts.findLast((each) => each.upstream === row.upstream);
  const { provider = null, model = null } = row.upstream === null ? {} : (attempt ?? {});
  return {
    name: row.model,
    upstream: row.upstream ?? '',
    provider: provider ?? '',
    model: model ?? '',
    calls: 1,
    lastAt: row.startedAt + (row.endMs ?? 0),
  };
}

/** What own engines read again for a request that has ended. */
const rereadsOf = ({ attempts }: RequestRow): readonly Reread[] =>
  attempts.flatMap(({ reading }) =>
    reading === undefined || reading.again === 0
      ? []
      : [{ why: reading.why, turns: 1, tokens: reading.again }],
  );

export type UsageSpan = 'minute' | 'hour' | 'day';

export interface HistoryQuery {
  readonly span: UsageSpan;
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Rows are summed over steps of this length; not days, which may have 23 or 25 hours. */
  readonly groupMs: number;
  readonly dayFrom: number;
  readonly monthFrom: number;
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
  /** The requests of each key. */
  readonly keyRequests: readonly DaySum[];
  readonly keyTokens: readonly DaySum[];
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** What has places of its own, so that ordinary requests push out no fallback and no failure. */
type Pot = Outcome | 'cancelled';

export const potOf = (row: RequestRow): Pot => outcomeOf(row) ?? 'cancelled';

/** The most rows that are kept, in all pots together. */
export const MAX_ROWS_KEPT = KEPT_PER_OUTCOME * (OUTCOMES.length + 1);

interface Steps extends Pick<HistoryQuery, 'span' | 'stepMs' | 'groupMs'> {
  readonly from: (now: number) => number;
}

/** The start of the first of `steps`, of which the last is the current one. */
const back = (stepMs: number, steps: number) => (now: number) =>
  now - (now % stepMs) - (steps - 1) * stepMs;

const STEPS: Readonly<Record<HistoryRange, Steps>> = {
  hour: { span: 'minute', stepMs: 60_000, groupMs: 60_000, from: back(60_000, 60) },
  day: { span: 'minute', stepMs: 900_000, groupMs: 900_000, from: back(900_000, 96) },
  week: { span: 'hour', stepMs: HOUR_MS, groupMs: HOUR_MS, from: back(HOUR_MS, 168) },
  month: { span: 'day', stepMs: DAY_MS, groupMs: 1, from: (now) => dayOf(now, -29) },
};

export function queryOf(range: HistoryRange, now: number): HistoryQuery {
  const { from, ...steps } = STEPS[range];
  return { ...steps, from: from(now), to: now, dayFrom: dayOf(now), monthFrom: monthOf(now) };
}

/** Callers choose model names, so there may be any number; a longer list to choose from helps nobody. */
const MAX_VALUES = 200;

/** The requested page of `rows`, which are requests that have ended, newest first. */
export function pageOf(
  rows: readonly RequestRow[],
  { filter, by, before, limit }: RequestQuery,
): RequestPage {
  const facets = facetsOf(rows, filter, by);
  const shortened = FACETS.map((facet) => [facet, facets[facet].slice(0, MAX_VALUES)]);
  const matching = rows.filter(
    (row) => row.startedAt <= (before ?? Infinity) && matchesFilter(row, filter, by),
  );
  return {
    data: matching.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, limit),
    counts: countsOf(rows, by),
    facets: Object.fromEntries(shortened) as RequestPage['facets'],
    machines: machinesIn(rows),
  };
}

/*
 * What a source says in an error may quote a prompt or an answer, in any spelling. It is kept in memory only, and is not
 * for people who read by a key: the owner may have given them theirs.
 */

/** Of each failure only what precedes the source's own words, such as `HTTP 500`. */
export const rowWithoutWords = (row: RequestRow): RequestRow => ({
  ...row,
  attempts: row.attempts.map((attempt) => ({
    ...attempt,
    error: attempt.error?.split(': ', 1)[0] ?? null,
  })),
});

/** Moves are told apart by those words alone. Who else has tried to get in is for the owner as well. */
export function eventWithoutWords(event: LiveEvent): LiveEvent {
  const hidden = { moves: [], keyRefusals: null };
  return event.kind === 'snapshot'
    ? { ...event, requests: event.requests.map(rowWithoutWords), ...hidden }
    : { ...event, upsert: event.upsert.map(rowWithoutWords), ...hidden };
}
