import {
  type AttemptRow,
  firstTokenMsOf,
  type Outcome,
  type RequestRow,
  timedOutputOf,
} from '#shared/live.ts';
import { HOSTED_IDS, isUpstreamId, type UpstreamId } from '#shared/ids.ts';
import { KEPT_PER_OUTCOME, type RequestQuery } from '#shared/request-filter.ts';
import type {
  HistoryPoint,
  HistoryRange,
  Tokens,
  UsageFigures,
  UsageHistory,
} from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePart } from '../../platform/database/client.ts';
import type { Budgets, KeyLimits } from './budgets.ts';
import { type HistoryQuery, potOf, queryOf, storedRow, type UsageBefore } from './queries.ts';
import type { HistoryRows, UsageOperations } from './database.ts';
import { type Count, createTally, NO_USAGE } from './tally.ts';
import type { ProviderEnergy } from '#shared/provider.ts';

/** One call of an upstream that has ended. */
export interface EndedCall extends AttemptRow {
  /** In wall-clock milliseconds. */
  readonly atMs: number;
  readonly key: string | null;
  readonly isFailure: boolean;
}

/** Money in billionths of the currency, energy in thousandths of a joule; zero without a price or a measurement. */
export type CallMoney = Pick<UsageFigures, 'spentNano' | 'savedNano' | 'energyMj' | 'energyNano'>;

export type UsageStore = Awaited<ReturnType<typeof openUsage>>;

/** The history in the database, and what it holds of an earlier run: rows, newest first, and sums. */
export async function openUsage(part: DatabasePart<UsageOperations>) {
  const earlier = await part.read('earlier');
  return { part, ...(earlier ?? { rows: [], before: NOTHING_BEFORE }) };
}

const NOTHING_BEFORE: UsageBefore = { spent: [], keyRequests: [], keyTokens: [] };

export type UsageRecorder = ReturnType<typeof createUsageRecorder>;

/** If the process is killed, at most the counts of this time are lost. */
const WRITE_DELAY_MS = 1000;
/** What could not be written is kept until there is room for it, and tried again after this time. */
const RETRY_DELAY_MS = 10_000;

export function createUsageRecorder(
  part: DatabasePart<UsageOperations>,
  deps: {
    readonly clock: Clock;
    readonly config: () => Config;
    readonly budgets: Pick<Budgets, 'spent'>;
    readonly keyLimits: Pick<KeyLimits, 'requested' | 'used'>;
    readonly joulesPerToken: JoulesPerToken;
  },
) {
  const { clock, config, budgets, keyLimits } = deps;
  const tally = createTally();
  /** Requests that have ended and are not written yet. */
  let waiting: RequestRow[] = [];
  let cancelTimer: (() => void) | null = null;

  async function write(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    const [increments, rows] = [tally.take(), newestOf(waiting)];
    waiting = [];
    if (increments.length === 0 && rows.length === 0) return;
    const usage = { nowMs: clock.now(), increments, rows: rows.map(storedRow) };
    if ((await part.write('add', usage)).kind === 'written') return;
    for (const { place, figures } of increments) tally.add(place.at, [[place, figures]]);
    waiting = [...rows, ...waiting];
    cancelTimer ??= clock.after(RETRY_DELAY_MS, () => void write());
  }

  function add(atMs: number, ...counts: readonly Count[]): void {
    tally.add(atMs, counts);
    cancelTimer ??= clock.after(WRITE_DELAY_MS, () => void write());
  }

  return {
    requested: (key: string | null) => keyLimits.requested(key),
    callEnded(call: EndedCall) {
      const { upstream, provider, model, key } = call;
      const settings = config();
      const used = {
        ...figuresOf(call, settings),
        ...energyFigures(call, deps.joulesPerToken, settings.gateway.electricityPriceKwh),
      };
      const { spentNano = 0, savedNano = 0, energyMj = 0, energyNano = 0 } = used;
      const money = { spentNano, savedNano, energyMj, energyNano };
      budgets.spent(upstream, money.spentNano);
      keyLimits.used(key, (used.inputTokens ?? 0) + (used.outputTokens ?? 0));
      const isCounted = { calls: 1, failures: Number(call.isFailure) };
      const place = { ...ALL, upstream, provider: provider ?? '', model: model ?? '' };
      add(call.atMs, [place, { ...used, ...isCounted }], ...forAll(key, used));
      return money;
    },
    /** `atMs`: the time of the end, in wall-clock milliseconds. */
    requestEnded(row: RequestRow, outcome: Outcome | null, atMs: number) {
      const fallbacks = Number(outcome === 'fell-back');
      const failures = Number(outcome === 'failed');
      add(atMs, ...forAll(row.key, { calls: 1, fallbacks, failures }));
      waiting.push(row);
    },
    async history(range: HistoryRange) {
      void write();
      const now = clock.now();
      const query = queryOf(range, now);
      const found = (await part.read('history', query)) ?? NOTHING;
      const { currency } = config().gateway;
      return { range, to: now, ...reportOf(found, query), currency, problem: part.problem() };
    },
    /** Null if none are stored or they cannot be read. */
    requests(wanted: RequestQuery) {
      void write();
      return part.read('requests', wanted);
    },
    /** The names that apps asked for in 30 days. */
    async requestedModels() {
      void write();
      const names = (await part.read('requestedModels', clock.now())) ?? [];
      return { names, problem: part.problem() };
    },
    request(id: string) {
      void write();
      return part.read('request', id);
    },
    /** Writes what was counted; to be called once no request is running. */
    async close() {
      await write();
      cancelTimer?.();
    },
  };
}

/** The rows that the database will keep; it would delete the rest again. */
function newestOf(rows: readonly RequestRow[]): RequestRow[] {
  const pots = Object.values(Object.groupBy(rows, potOf));
  const kept = new Set(pots.flatMap((each) => each.slice(-KEPT_PER_OUTCOME)));
  return rows.filter((row) => kept.has(row));
}

/** The place of a request as its caller sees it, whichever upstreams were called. */
const ALL = { upstream: '', provider: '', model: '', key: '' };

/** One count for all keys together, and one for the request's own key. */
function forAll(key: string | null, figures: Partial<UsageFigures>): readonly Count[] {
  const all: Count = [ALL, figures];
  return key === null ? [all] : [all, [{ ...ALL, key }, figures]];
}

const NOTHING: HistoryRows = {
  points: [],
  parts: [],
  keys: [],
  rereads: [],
  today: NO_USAGE,
  thisMonth: NO_USAGE,
};

function figuresOf(call: EndedCall, config: Config): Partial<UsageFigures> {
  const { upstream, tokens, isFailure } = call;
  const [firstTokenMs, timedOutput] = [firstTokenMsOf(call), timedOutputOf(call)];
  const timed = firstTokenMs === null ? {} : { firstTokenMs, firstTokens: 1 };
  if (tokens === null) return timed;
  const { input, output, cached, estimated } = tokens;
  const price = priceOf(config, upstream);
  const instead = upstream === 'local' && !isFailure ? priceInstead(config) : null;
  return {
    ...timed,
    ...(timedOutput !== null && { outputMs: timedOutput.ms, timedTokens: timedOutput.tokens }),
    inputTokens: input,
    outputTokens: output,
    cachedTokens: cached,
    estimatedTokens: estimated ? input + output : 0,
    spentNano: price === null ? 0 : costNano(tokens, price),
    savedNano: instead === null ? 0 : costNano(tokens, instead),
  };
}

/** Prices in the currency, per million tokens. */
type Price = Readonly<Record<'input' | 'output' | 'cached', number>>;

/** Null if no price is set. Cached tokens without a price of their own cost as much as other input. */
function priceOf(config: Config, id: UpstreamId): Price | null {
  if (id === 'local') return null;
  const { priceInput, priceOutput, priceCached } = config[id];
  if (priceInput === null && priceOutput === null && priceCached === null) return null;
  const input = priceInput ?? 0;
  return { input, output: priceOutput ?? 0, cached: priceCached ?? input };
}

/** The price of the first hosted upstream that has one: what the tokens of `local` would have cost there. */
function priceInstead(config: Config): Price | null {
  for (const id of HOSTED_IDS) {
    const price = config[id].baseUrl === null ? null : priceOf(config, id);
    if (price !== null) return price;
  }
  return null;
}

/** The cost in billionths of the currency, because sums of whole numbers are exact. */
function costNano({ input, output, cached }: Tokens, price: Price): number {
  const known = Math.min(cached, input);
  const sum = (input - known) * price.input + known * price.cached + output * price.output;
  return Math.round(sum * 1000);
}

function reportOf(
  found: HistoryRows,
  { from, stepMs }: HistoryQuery,
): Omit<UsageHistory, 'range' | 'to' | 'currency' | 'problem'> {
  return {
    ...found,
    from,
    stepMs,
    points: pointsOf(found),
    parts: found.parts.flatMap(({ upstream, provider, model, figures }) =>
      isUpstreamId(upstream)
        ? [{ upstream, provider: provider || null, model: model || null, figures }]
        : [],
    ),
  };
}

function pointsOf({ points }: HistoryRows): readonly HistoryPoint[] {
  return [...Map.groupBy(points, ({ at }) => at)].map(([at, rows]) => ({
    at,
    figures: rows.find(({ upstream }) => upstream === '')?.figures ?? NO_USAGE,
    upstreams: Object.fromEntries(
      rows.filter(({ upstream }) => upstream !== '').map((row) => [row.upstream, row.figures]),
    ),
  }));
}

/** What a token of a model takes on a machine; null while unknown. */
export type JoulesPerToken = (provider: string, model: string) => number | null;

/** With fewer tokens, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

export function joulesPerTokenIn(energy: ProviderEnergy | null, model: string): number | null {
  const measured = energy?.models.find((each) => each.model === model);
  return measured === undefined || measured.tokens < MIN_TOKENS
    ? null
    : measured.joules / measured.tokens;
}

const JOULES_PER_KWH = 3_600_000;

/** The electricity of a call to a machine, by what its tokens have taken so far; nothing where that is unknown. */
export function energyFigures(
  { provider, model, tokens }: Pick<EndedCall, 'provider' | 'model' | 'tokens'>,
  joulesPerToken: JoulesPerToken,
  priceKwh: number | null,
): Partial<UsageFigures> {
  const rate = provider === null || tokens === null ? null : joulesPerToken(provider, model ?? '');
  if (rate === null || tokens === null) return {};
  const joules = rate * tokens.output;
  const energyNano = priceKwh === null ? 0 : Math.round((joules / JOULES_PER_KWH) * priceKwh * 1e9);
  return { energyMj: Math.round(joules * 1000), energyNano };
}
