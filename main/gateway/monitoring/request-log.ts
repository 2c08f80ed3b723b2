import { type AttemptRow, type RequestRow, outcomeOf } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import type { RequestQuery } from '#shared/request-filter.ts';
import type { Tokens } from '#shared/usage.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { withSample } from '../circuits/breaker.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { Log } from '../../platform/log.ts';
import type {
  AttemptEnd,
  AttemptObserver,
  AttemptStart,
  RequestArrival,
  RequestEnd,
  RequestObserver,
} from '../routing/observer.ts';
import { pageOf } from '../usage/queries.ts';
import type { UsageRecorder } from '../usage/recorder.ts';
import type { Counters } from './counters.ts';

/** Receives the results of calls to machines, except refusals that say nothing about their health. */
export type ReportProviderResult = (provider: string, result: 'served' | 'failed') => void;

interface RequestLogDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly memory: Memory;
  readonly routed: ReportProviderResult;
  readonly nameOf: (id: string) => string | null;
  /** The row of a request has changed, or is no longer among the rows. */
  readonly changed: (id: string) => void;
  readonly usage: UsageRecorder;
  readonly unsaved: () => void;
  /** Requests from an earlier run, newest first. */
  readonly earlier: readonly RequestRow[];
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type MutableRow = Mutable<Omit<RequestRow, 'attempts'>> & { attempts: Mutable<AttemptRow>[] };

type OnEnd = (row: MutableRow, wallMs: number) => void;

/** Callers choose model names, and each row goes to every window. */
const MAX_MODEL_LENGTH = 200;
const MAX_ENDED_ROWS = 100;
const MAX_ATTEMPTS_PER_ROW = 16;

/** The rows of all running requests and of the latest ones that have ended; pages of them and of the stored ones. */
export function createRequestLogs(deps: RequestLogDeps) {
  const { clock, counters, changed, usage, nameOf } = deps;
  const before = deps.earlier.slice(0, MAX_ENDED_ROWS).toReversed();
  const inMemory = new Map<string, RequestRow>(before.map((row) => [row.id, row]));
  const ended = before.map(({ id }) => id);
  /** Newest first. */
  const rows = () => [...inMemory.values()].toReversed();

  function onEnd(row: MutableRow, wallMs: number): void {
    ended.push(row.id);
    const outcome = outcomeOf(row);
    counters.requestEnded(row, outcome);
    writeRequestLine(row, deps.log);
    usage.requestEnded(row, outcome, wallMs);
    deps.unsaved();
    const oldest = ended.length > MAX_ENDED_ROWS ? ended.shift() : undefined;
    if (oldest === undefined) return;
    inMemory.delete(oldest);
    changed(oldest);
  }

  return {
    begin: ({ id, upstreamPath, model, stream, caller, key }: RequestArrival): RequestObserver => {
      const begun = dualTimeOf(clock);
      const row: MutableRow = {
        id,
        startedAt: begun.wallMs,
        caller,
        endpoint: upstreamPath.slice(1),
        model: model === null ? null : model.slice(0, MAX_MODEL_LENGTH),
        stream,
        key,
        state: 'running',
        upstream: null,
        status: null,
        fallbackReason: 'none',
        events: 0,
        endMs: null,
        tokens: null,
        spentNano: 0,
        attempts: [],
        attemptCount: 0,
      };
      inMemory.set(id, row);
      if (key !== null) usage.requested(key);
      counters.accepted();
      changed(id);
      return new OpenRequest(row, begun.ticks, deps, onEnd);
    },
    rows,
    async page(wanted: RequestQuery) {
      // If nothing can be read, there are only the requests that the feed shows.
      const shown = () => rows().filter(({ state }) => state !== 'running');
      const page = (await usage.requests(wanted)) ?? pageOf(shown(), wanted);
      const asked = page.data.flatMap(({ attempts }) =>
        attempts.flatMap(({ provider }) => provider ?? []),
      );
      const named = namesNow([...page.facets.machine, ...asked], nameOf);
      // Only the rows in memory have the words of upstreams.
      const data = page.data.map((row) => inMemory.get(row.id) ?? row);
      return { ...page, data, machines: { ...page.machines, ...named } };
    },
    /** Also while it runs; null if it is unknown or no longer stored. */
    one: async (id: string) => inMemory.get(id) ?? (await usage.request(id)),
  };
}

class OpenRequest implements RequestObserver {
  readonly row: MutableRow;
  /** In clock ticks. */
  readonly begunAt: number;
  readonly deps: RequestLogDeps;
  readonly #onEnd: OnEnd;

  constructor(row: MutableRow, begunAt: number, deps: RequestLogDeps, onEnd: OnEnd) {
    this.row = row;
    this.begunAt = begunAt;
    this.deps = deps;
    this.#onEnd = onEnd;
  }

  attemptStarted(start: AttemptStart): AttemptObserver {
    return new OpenAttempt(start, this);
  }

  answering(head: Parameters<RequestObserver['answering']>[0]): void {
    Object.assign(this.row, head);
    this.changed();
  }

  ended(end: RequestEnd): void {
    this.row.state = end;
    const { ticks, wallMs } = dualTimeOf(this.deps.clock);
    this.row.endMs = this.msAt(ticks);
    this.changed();
    this.#onEnd(this.row, wallMs);
  }

  used(tokens: Tokens): void {
    this.row.tokens = this.row.tokens === null ? tokens : both(this.row.tokens, tokens);
  }

  /** Milliseconds since the start of the request. */
  msAt(ticks: number): number {
    return Math.round(ticks - this.begunAt);
  }

  changed(): void {
    this.deps.changed(this.row.id);
  }
}

function both(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    estimated: a.estimated || b.estimated,
  };
}

class OpenAttempt implements AttemptObserver {
  readonly #request: OpenRequest;
  readonly #start: AttemptStart;
  readonly #row: Mutable<AttemptRow>;

  constructor(start: AttemptStart, request: OpenRequest) {
    const { target, cause, startedAt } = start;
    this.#request = request;
    this.#start = start;
    const { counters, nameOf } = request.deps;
    const startMs = request.msAt(startedAt);
    this.#row = {
      upstream: target.upstream,
      provider: target.provider,
      machine: target.provider === null ? null : nameOf(target.provider),
      cause,
      startMs,
      polls: 0,
      firstContentMs: null,
      lastContentMs: null,
      endMs: null,
      reason: null,
      error: null,
      model: target.model === '' ? null : target.model.slice(0, MAX_MODEL_LENGTH),
      circuitBefore: start.circuit,
      circuitAfter: null,
      ...(target.isHashFixed && { isHashFixed: true }),
      tokens: null,
      cutAtTokens: null,
    };
    const { row } = request;
    row.attemptCount += 1;
    if (row.attempts.length < MAX_ATTEMPTS_PER_ROW) row.attempts.push(this.#row);
    request.changed();
    counters.callStarted(start);
  }

  polled(): void {
    this.#row.polls += 1;
    this.#request.changed();
  }

  answering(contentAt: number | null): void {
    const { deps } = this.#request;
    const nowMs = this.#request.msAt(deps.clock.ticks());
    this.#row.firstContentMs = contentAt === null ? nowMs : this.#request.msAt(contentAt);
    // An assembled answer is whole by now; of a relayed one more may come.
    if (contentAt !== null) this.#row.lastContentMs ??= nowMs;
    this.#request.changed();
  }

  relayed(events: number, cameAt: number): void {
    this.#request.row.events += events;
    if (events > 0) this.#row.lastContentMs = this.#request.msAt(cameAt);
    this.#request.changed();
  }

  ended(end: AttemptEnd): void {
    const { reason, error, circuit, verdict, latencyMs, tokens, isRecalled } = end;
    const { counters, usage, memory, routed, log } = this.#request.deps;
    const { upstream, provider, model, isElsewhere } = this.#start.target;
    const { cutAtTokens } = end;
    if (cutAtTokens !== null)
      log('warn', 'prompt_cut', { id: provider ?? upstream, model, readTokens: cutAtTokens });
    this.#row.endMs = this.#request.msAt(end.endedAt.ticks);
    this.#row.reason = reason;
    this.#row.error = error;
    this.#row.circuitAfter = circuit;
    this.#row.tokens = tokens;
    this.#row.cutAtTokens = cutAtTokens;
    if (end.repairedCalls > 0) this.#row.repairedCalls = end.repairedCalls;
    if (end.reading !== null) this.#row.reading = end.reading;
    if (tokens !== null) this.#request.used(tokens);
    this.#request.changed();
    if (!isRecalled) {
      const { key } = this.#request.row;
      const isFailure = verdict === 'failed';
      const call = { ...this.#row, key, isFailure, isElsewhere, atMs: end.endedAt.wallMs };
      const used = usage.callEnded(call);
      this.#request.row.spentNano += used.spentNano;
      counters.callEnded(call, used);
    }
    counters.callLeft(this.#start);
    if (provider !== null) {
      if (latencyMs !== null) noteLatency(memory.of(provider), latencyMs, end.endedAt.wallMs);
      if (verdict !== 'neutral') routed(provider, verdict);
    }
  }
}

function noteLatency(known: Knowledge, ms: number, atMs: number): void {
  const before = known.get('latency');
  const mean = withSample(before?.mean ?? null, ms, atMs);
  known.set('latency', '', { mean, samples: (before?.samples ?? 0) + 1 });
}

/** One line per request, written when it has ended. */
function writeRequestLine(row: RequestRow, log: Log): void {
  const { id, endpoint, model, stream, key, state, upstream, status, fallbackReason } = row;
  const { endMs: ms, tokens, attempts } = row;
  const answered = attempts.find(({ firstContentMs }) => firstContentMs !== null);
  log('info', 'request', {
    id,
    endpoint,
    model,
    stream,
    ...(key !== null && { key }),
    state,
    upstream,
    status,
    fallbackReason,
    firstContentMs: answered?.firstContentMs ?? null,
    ms,
    inputTokens: tokens?.input ?? null,
    outputTokens: tokens?.output ?? null,
    tokensEstimated: tokens?.estimated ?? null,
  });
}
