import { pauseOf } from '#shared/condition.ts';
import { HOSTED_IDS, mapUpstreams, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { ProvidersSummary } from '#shared/live.ts';
import type { LocalProvider } from '#shared/provider.ts';
import { defaultLabel } from '#shared/services.ts';
import type {
  CircuitReport,
  LocalHealth,
  PoolReport,
  StatusReport,
  UpstreamReport,
} from '#shared/status.ts';
import { type Config, ENTRIES, variableOf } from '../../config/schema.ts';
import { maskHeaders, maskSecret, maskUrl } from '../../config/setting-types.ts';
import { roundedMean, waitMsOf, type Breaker } from '../circuits/breaker.ts';
import { type Circuit, exclusionsIn } from '../circuits/circuits.ts';
import { type DualTime, endsAtMs, remainingMs, isoTime } from '../../platform/clock.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { isZeroSpend } from '../upstream/call.ts';
import { type EngineAt, windowReports } from '../routing/windows.ts';
import { coldStartAt, type Warmup } from '../routing/warmup.ts';
import { CHAT_COMPLETIONS } from '../protocols/chat/endpoint.ts';
import {
  type LocalChoice,
  localModel,
  type LocalTarget,
  targetsOf,
  versionPath,
} from '../upstream/upstreams.ts';
import { isUsedUp, type LimitAt } from '../usage/budgets.ts';
import { type Price, priceOf } from '../usage/recorder.ts';
import type { Counters } from './counters.ts';

/** The machines that a report lists: those that were called, or also the first thousand known ones. */
export type StatusScope = 'asked' | 'known';

interface StatusParts {
  readonly config: Config;
  readonly totals: ReturnType<Counters['totals']>;
  readonly warmup: Warmup;
  readonly local: LocalChoice;
  /** Of a machine, or with null of that with the latest heartbeat. */
  readonly excerptOf: (id: string | null) => LocalProvider | null;
  readonly pool: PoolReport | null;
  readonly summary: ProvidersSummary;
  readonly providerIds: readonly string[];
  readonly circuitAt: (id: string) => Circuit;
  readonly memory: Memory;
  readonly engineAt: EngineAt;
  readonly now: DualTime;
  /** Value of `X-Gateway-Force-Zero`; `"0"` if it is absent. */
  readonly forceZeroHeader: string;
  readonly admission: StatusReport['admission'];
  readonly budgetAt: (id: UpstreamId) => LimitAt | null;
}

export function statusReport(parts: StatusParts): StatusReport {
  const { config, totals, warmup, local, pool, summary, circuitAt, now } = parts;
  const zero = isZeroSpend(config, parts.forceZeroHeader);
  const upstreamCircuits = mapUpstreams((id) => circuitReport(circuitAt(id).breaker, now));
  const providerCircuits = byId(parts.providerIds, (id) =>
    providerCircuitReport(circuitAt(id).breaker, now),
  );
  const cold = coldStartAt(warmup, now.ticks);
  const circuits = { ...upstreamCircuits, ...providerCircuits };
  return {
    ok: UPSTREAM_IDS.some((id) => canServe(id, parts, zero)),
    timestamp: isoTime(now.wallMs),
    forceZero: config.routing.forceZero,
    zero,
    gateway_forceZero_header: parts.forceZeroHeader,
    local: {
      verified_count: summary.verified,
      // A machine being verified has no verdict yet.
      pending_count: summary.pending + summary.verifying,
      failed_count: summary.failed,
      provider: parts.excerptOf(localPick(parts)?.provider ?? null),
      health: localHealth(parts),
      slow: slowLocal(parts),
      windows: [...windowReports(local, { ...parts, pairs: config.routing.modelAliases })],
    },
    upstreams: UPSTREAM_IDS.map((id) => upstreamReport(id, parts, upstreamCircuits[id])),
    circuits,
    stats: {
      totalRequests: totals.totalRequests,
      fallbackCount: totals.fallbackCount,
      perUpstream: byId([...UPSTREAM_IDS, ...parts.providerIds], (id) => {
        const { requests, fails, successes } = circuitAt(id).breaker.health;
        return { requests, fails, successes };
      }),
      circuits,
      providerCircuits,
      providerLatencies: byId(parts.providerIds, (id) => latencyReport(id, parts)),
      config: { ...config.circuit },
    },
    admission: parts.admission,
    ondemand_warmup: warmup.state,
    ondemand_warmup_detail: {
      state: warmup.state,
      lastWarmupAt: warmup.lastWarmupAt === null ? null : isoTime(warmup.lastWarmupAt),
      lastResult: warmup.lastResult,
      durationMs: warmup.durationMs,
      elapsedMs: cold?.elapsedMs ?? null,
      usualMs: cold?.usualMs ?? null,
    },
    config: {
      order: [...UPSTREAM_IDS],
      description: describeRouting(config),
      timeouts: mapUpstreams((id) => config[id].timeoutMs),
      models: mapUpstreams((id) => modelOf(id, config, local)),
      env_hint: ENV_HINTS,
    },
    hint: 'Each chat response says in X-Gateway-Upstream which upstream served it and in X-Gateway-Fallback-Reason why others did not.',
    ...(pool === null ? {} : { pool }),
  };
}

function latencyReport(id: string, { circuitAt, memory }: StatusParts) {
  const { ttft, lastTtftMs } = circuitAt(id).breaker.health;
  const { mean, samples } = memory.of(id).get('latency') ?? { mean: null, samples: 0 };
  return { ewmaTtft: roundedMean(ttft), ewmaLatency: roundedMean(mean), lastTtftMs, samples };
}

function byId<T>(ids: readonly string[], make: (id: string) => T): Record<string, T> {
  return Object.fromEntries(ids.map((id) => [id, make(id)]));
}

function upstreamReport(
  id: UpstreamId,
  parts: StatusParts,
  circuit: CircuitReport,
): UpstreamReport {
  const { config, local, now } = parts;
  const budget = parts.budgetAt(id);
  const exclusions = [
    ...exclusionReports(parts.memory.of(id), now),
    ...(budget !== null && isUsedUp(budget)
      ? [{ reason: 'budget', until: isoTime(budget.until) }]
      : []),
  ];
  const { baseUrl, timeoutMs } = config[id];
  const common = {
    id,
    baseUrl: baseUrl === null ? null : maskUrl(baseUrl),
    chatPath: versionPath(id) + CHAT_COMPLETIONS.upstreamPath,
    model: modelOf(id, config, local) ?? '',
    timeoutMs,
    circuit,
    skips: exclusions,
    ...(budget === null ? {} : { budget: budgetReport(budget, priceOf(config, id)) }),
    healthy: canServe(id, parts, false) && !circuit.open && exclusions.length === 0,
  };
  if (id === 'local') {
    return {
      ...common,
      label: defaultLabel('local', null),
      apiKeyEnv: 'none: the Authorization header of the request is forwarded',
      hasKey: false,
      apiKeyPreview: null,
    };
  }
  const { label, apiKey, headers } = config[id];
  return {
    ...common,
    label: label ?? defaultLabel(id, baseUrl),
    apiKeyEnv: variableOf(id, 'apiKey'),
    hasKey: apiKey !== null,
    apiKeyPreview: apiKey === null ? null : maskSecret(apiKey),
    ...(Object.keys(headers).length === 0 ? {} : { headers: maskHeaders(headers) }),
  };
}

function budgetReport({ period, limit, used }: LimitAt, price: Price | null) {
  const unpriced = price === null ? { unpriced: true as const } : {};
  return { period, limit: limit / 1e9, spent: used / 1e9, ...unpriced };
}

export const NO_REQUEST = { model: null, needs: () => ({ vision: false, tools: false }) };

/** The model for a request that names none; null if it is unknown. */
function modelOf(id: UpstreamId, config: Config, local: LocalChoice): string | null {
  if (id !== 'local') return config[id].model;
  const [target] = targetsOf(local);
  return target === undefined ? null : localModel(target, NO_REQUEST);
}

function describeRouting(config: Config): string {
  const timeout = (id: UpstreamId) => `${config[id].timeoutMs} ms`;
  const warm = config.ondemand.warmup
    ? 'when it fails, start warming ondemand in parallel'
    : 'warm-up of ondemand is switched off';
  return (
    `Try local (${timeout('local')}); ${warm}; ` +
    `then ${HOSTED_IDS.map((id) => `${id} (${timeout(id)})`).join(', ')} in turn; ` +
    `when all fail, wait for ondemand (${timeout('ondemand')}).`
  );
}

function variablesOf(section: string): string {
  const entries = ENTRIES.filter((entry) => entry.section === section);
  return entries.map(({ variable }) => variable).join(', ');
}

const ENV_HINTS: Readonly<Record<string, string>> = {
  ...mapUpstreams(variablesOf),
  thresholds: variablesOf('circuit'),
};

/** Whether an upstream could serve a request now; with `zero` only `local` may. */
function canServe(id: UpstreamId, parts: StatusParts, zero: boolean): boolean {
  if (!isPresent(id, parts) || (zero && id !== 'local')) return false;
  const budget = parts.budgetAt(id);
  if (budget !== null && isUsedUp(budget)) return false;
  return isAdmitted(id, parts);
}

/** `degraded`: `local` could serve if its circuits admitted a call. */
function localHealth(parts: StatusParts): LocalHealth {
  if (canServe('local', parts, true)) return 'ok';
  return parts.local.kind === 'target' || parts.summary.verified > 0 ? 'degraded' : 'unavailable';
}

function slowLocal(parts: StatusParts): StatusReport['local']['slow'] {
  const { config, circuitAt, now, providerIds } = parts;
  const late = ['local', ...providerIds].flatMap((id) => {
    const { breaker } = circuitAt(id);
    const { ttft, lastTtftMs } = breaker.health;
    const isSlow = waitMsOf(breaker, now) > 0 && pauseOf(breaker.health).cause === 'slow';
    return isSlow ? [ttft?.value ?? 0, lastTtftMs ?? 0] : [];
  });
  if (late.length === 0) return null;
  const ttftMs = Math.round(Math.max(...late, config.circuit.ttftThresholdMs));
  // Twice the slowest first token, in whole seconds.
  return { ttftMs, enoughMs: 1000 * Math.ceil((2 * ttftMs) / 1000) };
}

/** A machine that routing may choose now; null if there is none. */
function localPick(parts: StatusParts): LocalTarget | null {
  if (parts.local.kind !== 'tier') return null;
  const isFree = ({ provider }: LocalTarget) => provider !== null && isAdmitted(provider, parts);
  return parts.local.targets.find(isFree) ?? null;
}

function isPresent(id: UpstreamId, parts: StatusParts): boolean {
  if (id !== 'local') return parts.config[id].baseUrl !== null;
  return parts.local.kind === 'target' || localPick(parts) !== null;
}

/** A missing model excludes only requests for that model. */
function isAdmitted(id: string, { circuitAt, memory, now }: StatusParts): boolean {
  return (
    waitMsOf(circuitAt(id).breaker, now) === 0 &&
    exclusionsIn(memory.of(id)).every(({ model }) => model !== null)
  );
}

/** A provider's circuit record (docs/reference/http-reports.md#status). */
export function providerCircuitReport({ health, state }: Breaker, now: DualTime) {
  const isOpen = state.kind !== 'closed';
  return {
    fails: health.fails,
    successes: health.successes,
    failUntil: isOpen ? isoTime(endsAtMs(state.until, now)) : null,
    lastError: health.lastError,
    lastFailAt: timeOrNull(health.lastFailAt),
    lastSuccessAt: timeOrNull(health.lastSuccessAt),
    consecutiveFails: health.consecutiveFails,
    open: isOpen,
    // Rounded up: 0 means that the next request is admitted.
    cooldownRemainingMs: isOpen ? Math.ceil(remainingMs(state.until, now)) : 0,
  };
}

export function circuitReport(breaker: Breaker, now: DualTime): CircuitReport {
  const { ttft, lastTtftMs, consecutiveSlow } = breaker.health;
  return {
    ...providerCircuitReport(breaker, now),
    ewmaTtft: roundedMean(ttft),
    lastTtftMs,
    consecutiveSlow,
  };
}

/** The exclusions in force, as `upstreams[].skips` shows them. */
function exclusionReports(known: Knowledge, now: DualTime): UpstreamReport['skips'] {
  return exclusionsIn(known).map(({ reason, model, until }) => ({
    reason,
    until: isoTime(endsAtMs(until, now)),
    ...(model === null ? {} : { model }),
  }));
}

const timeOrNull = (wallMs: number | null): string | null =>
  wallMs === null ? null : isoTime(wallMs);
