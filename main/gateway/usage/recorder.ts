import {
  type AttemptRow,
  firstTokenMsOf,
  type Outcome,
  type RequestRow,
  timedOutputOf,
} from '#shared/live.ts';
import { HOSTED_IDS, type UpstreamId } from '#shared/ids.ts';
import { KEPT_PER_OUTCOME, type RequestQuery } from '#shared/request-filter.ts';
import type { ProviderEnergy } from '#shared/provider.ts';
import type {
  FigureName,
  HistoryRange,
  Tokens,
  UsageFigures,
  UsageHistory,
} from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePart } from '../../platform/database/client.ts';
import type { Budgets, KeyLimits } from './budgets.ts';
import type { StoredHistory, UsageOperations } from './database.ts';
import {
  HOUR_MS,
  type Increment,
  MAX_FIGURE,
  NO_USAGE,
  potOf,
  queryOf,
  storedRow,
  type UsageBefore,
  type UsagePlace,
} from './queries.ts';

/** One call of an upstream that has ended. */
export interface EndedCall extends AttemptRow {
  /** In wall-clock milliseconds. */
  readonly atMs: number;
  readonly key: string | null;
  readonly isFailure: boolean;
  /** Its model was computed by a service. */
  readonly isElsewhere: boolean;
}

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
    readonly budgets: Pick<Budgets, 'spent' | 'swap'>;
    readonly keyLimits: Pick<KeyLimits, 'requested' | 'used'>;
    /** What the answers of a machine take in electricity; null while unknown. */
    readonly energyOf: (provider: string) => ProviderEnergy | null;
  },
) {
  const { clock, config, budgets, keyLimits, energyOf } = deps;
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
    requested: (key: string) => keyLimits.requested(key),
    /** Returns what it has used. */
    callEnded(call: EndedCall): UsageFigures {
      const { upstream, provider, model, key } = call;
      const used = figuresOf(call, config(), provider === null ? null : energyOf(provider));
      if (used.spentNano > 0) budgets.spent(upstream, used.spentNano);
      if (key !== null) keyLimits.used(key, used.inputTokens + used.outputTokens);
      const isCounted = { calls: 1, failures: Number(call.isFailure) };
      const place = { ...ALL, upstream, provider: provider ?? '', model: model ?? '' };
      add(call.atMs, [place, { ...used, ...isCounted }], ...forAll(key, used));
      return used;
    },
    /** Two upstreams have changed places: what they have used goes with them. */
    swap(one: UpstreamId, other: UpstreamId) {
      budgets.swap(one, other);
      void write();
      void part.write('swap', [one, other]);
    },
    /** `atMs`: the time of the end, in wall-clock milliseconds. */
    requestEnded(row: RequestRow, outcome: Outcome | null, atMs: number) {
      const fallbacks = Number(outcome === 'fell-back');
      const failures = Number(outcome === 'failed');
      add(atMs, ...forAll(row.key, { calls: 1, fallbacks, failures }));
      waiting.push(row);
    },
    async history(range: HistoryRange): Promise<UsageHistory> {
      void write();
      const now = clock.now();
      const { currency } = config().gateway;
      const query = queryOf(range, now);
      const found = (await part.read('history', query)) ?? NOTHING;
      const { from, stepMs } = query;
      return { range, from, to: now, stepMs, ...found, currency, problem: part.problem() };
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

const NOTHING: StoredHistory = {
  points: [],
  parts: [],
  keys: [],
  rereads: [],
  today: NO_USAGE,
  thisMonth: NO_USAGE,
};

/** Of the call alone, which is no request. */
function figuresOf(call: EndedCall, config: Config, energy: ProviderEnergy | null): UsageFigures {
  const { upstream, isFailure, isElsewhere } = call;
  const [firstTokenMs, timedOutput] = [firstTokenMsOf(call), timedOutputOf(call)];
  const tokens = call.tokens ?? NO_TOKENS;
  const { input, output, cached, estimated } = tokens;
  const instead = isElsewhere || isFailure ? null : priceInstead(config);
  return {
    ...NO_USAGE,
    inputTokens: input,
    outputTokens: output,
    cachedTokens: cached,
    estimatedTokens: estimated ? input + output : 0,
    firstTokenMs: firstTokenMs ?? 0,
    firstTokens: Number(firstTokenMs !== null),
    outputMs: timedOutput?.ms ?? 0,
    timedTokens: timedOutput?.tokens ?? 0,
    spentNano: costNano(tokens, priceOf(config, upstream)),
    savedNano: costNano(tokens, instead),
    ...energyFigures(call, energy, config.gateway.electricityPriceKwh),
  };
}

const NO_TOKENS: Tokens = { input: 0, output: 0, cached: 0, estimated: false };

/** Prices in the currency, per million tokens. */
export type Price = Readonly<Record<'input' | 'output' | 'cached', number>>;

/** Null if no price is set. Cached tokens without a price of their own cost as much as other input. */
export function priceOf(config: Config, id: UpstreamId): Price | null {
  if (id === 'local') return null;
  const { priceInput, priceOutput, priceCached } = config[id];
  if (priceInput === null && priceOutput === null && priceCached === null) return null;
  const input = priceInput ?? 0;
  return { input, output: priceOutput ?? 0, cached: priceCached ?? input };
}

/** The price of the first hosted upstream that has one: what the tokens of `local` would have cost there. */
function priceInstead(config: Config): Price | null {
  const hosted = HOSTED_IDS.filter((id) => config[id].baseUrl !== null);
  return hosted.map((id) => priceOf(config, id)).find((price) => price !== null) ?? null;
}

/** The cost in billionths of the currency, because sums of whole numbers are exact; nothing without a price. */
function costNano({ input, output, cached }: Tokens, price: Price | null): number {
  if (price === null) return 0;
  const known = Math.min(cached, input);
  const sum = (input - known) * price.input + known * price.cached + output * price.output;
  return Math.round(sum * 1000);
}

/** With fewer tokens, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

const JOULES_PER_KWH = 3_600_000;

/** The electricity of a call to a machine, by what its model's tokens have taken so far; nothing where that is unknown. */
export function energyFigures(
  { model, tokens }: Pick<EndedCall, 'model' | 'tokens'>,
  energy: ProviderEnergy | null,
  priceKwh: number | null,
): Pick<UsageFigures, 'energyMj' | 'energyNano'> {
  const measured = energy?.models.find((each) => each.model === model);
  if (tokens === null || measured === undefined || measured.tokens < MIN_TOKENS)
    return { energyMj: 0, energyNano: 0 };
  const joules = (measured.joules / measured.tokens) * tokens.output;
  const energyNano = priceKwh === null ? 0 : Math.round((joules / JOULES_PER_KWH) * priceKwh * 1e9);
  return { energyMj: Math.round(joules * 1000), energyNano };
}

type PlaceOfMinute = Omit<UsagePlace, 'at'>;

type Count = readonly [place: PlaceOfMinute, figures: Partial<UsageFigures>];

const MINUTE_MS = 60_000;

/** Callers choose model names: beyond this many places in one write, the rest are counted together, by the hour. */
const MAX_PLACES = 1000;
const OTHERS = 'others';

/** Sums what has happened since the last write. Sums are updated in place, because each request adds three times. */
function createTally() {
  let increments = new Map<string, Increment>();

  function countedAt(at: number, given: PlaceOfMinute): Increment {
    const known = increments.get(keyOf(at, given));
    if (known !== undefined) return known;
    const isSurplus = increments.size >= MAX_PLACES;
    const place = isSurplus
      ? { ...given, at: at - (at % HOUR_MS), provider: '', model: OTHERS }
      : { ...given, at };
    const key = keyOf(place.at, place);
    const counted = increments.get(key) ?? { place, figures: { ...NO_USAGE } };
    increments.set(key, counted);
    return counted;
  }

  return {
    add(atMs: number, counts: readonly Count[]) {
      const at = atMs - (atMs % MINUTE_MS);
      for (const [place, added] of counts) {
        const { figures } = countedAt(at, place);
        for (const name of Object.keys(added) as FigureName[]) {
          const more = Math.round(added[name] ?? 0);
          if (more !== 0) figures[name] = Math.min(figures[name] + more || 0, MAX_FIGURE);
        }
      }
    },
    /** Everything added since the last call; resets the counts. */
    take() {
      const taken = [...increments.values()];
      increments = new Map();
      return taken;
    },
  };
}

/** The model comes last, because callers choose it. */
const keyOf = (at: number, { upstream, provider, key, model }: PlaceOfMinute) =>
  `${at}\n${upstream}\n${provider}\n${key}\n${model}`;
