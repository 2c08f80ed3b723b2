import { judge, type LocalStanding, type Sighting } from '#shared/condition.ts';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type {
  AppInfo,
  AttemptRow,
  LiveDelta,
  LiveSnapshot,
  OutcomeCounts,
  ProvidersSummary,
  RequestRow,
} from '#shared/live.ts';
import type { CircuitReport, StatusReport, UpstreamReport } from '#shared/status.ts';
import { applyEvent, type LiveData } from '../../renderer/api/window-state.ts';

/** Page time at which every built snapshot arrives; the gateway's clock agrees unless told. */
export const NOW = Date.parse('2026-11-20T14:00:00.000Z');

const LABELS: Readonly<Record<UpstreamId, string>> = {
  local: 'Local',
  hosted_a: 'Groq',
  hosted_b: 'Together',
  hosted_c: 'Hosted C',
  ondemand: 'RunPod',
};

export function upstream(id: UpstreamId, over: Partial<UpstreamReport> = {}): UpstreamReport {
  return {
    id,
    label: LABELS[id],
    baseUrl: `http://${id}.test/v1`,
    chatPath: '/chat/completions',
    model: `${id}-model`,
    apiKeyEnv: '',
    hasKey: true,
    timeoutMs: 30_000,
    apiKeyPreview: null,
    circuit: circuit(),
    healthy: true,
    skips: [],
    ...over,
  };
}

export function missing(id: UpstreamId): UpstreamReport {
  return upstream(id, { baseUrl: null, hasKey: false, model: '', healthy: false });
}

export function tripped(
  id: UpstreamId,
  remainingMs: number,
  over: Partial<CircuitReport> = {},
): UpstreamReport {
  return upstream(id, {
    healthy: false,
    circuit: circuit({
      open: true,
      consecutiveFails: 5,
      cooldownRemainingMs: remainingMs,
      lastError: 'unreachable',
      ...over,
    }),
  });
}

export function skipped(id: UpstreamId, reason: string, forMs: number): UpstreamReport {
  const until = new Date(NOW + forMs).toISOString();
  return upstream(id, { healthy: false, skips: [{ reason, until }] });
}

export function circuit(over: Partial<CircuitReport> = {}): CircuitReport {
  return {
    fails: 0,
    successes: 0,
    failUntil: null,
    lastError: null,
    lastFailAt: null,
    lastSuccessAt: null,
    consecutiveFails: 0,
    open: false,
    cooldownRemainingMs: 0,
    ewmaTtft: null,
    lastTtftMs: null,
    consecutiveSlow: 0,
    ...over,
  };
}

/** A report over the given upstreams; those not given are not set up. */
export function status(
  given: readonly UpstreamReport[] = [],
  over: Partial<StatusReport> = {},
): StatusReport {
  const byId = new Map(given.map((report) => [report.id, report]));
  return {
    ok: true,
    timestamp: new Date(NOW).toISOString(),
    forceZero: false,
    zero: false,
    gateway_forceZero_header: '0',
    local: {
      verified_count: 0,
      pending_count: 0,
      failed_count: 0,
      provider: null,
      health: 'unavailable',
      slow: null,
      windows: [],
    },
    upstreams: UPSTREAM_IDS.map((id) => byId.get(id) ?? missing(id)),
    circuits: {},
    admission: { running: 0, limit: 5000, refused: 0 },
    stats: {
      totalRequests: 0,
      fallbackCount: 0,
      perUpstream: {},
      circuits: {},
      providerCircuits: {},
      providerLatencies: {},
      config: {
        failThreshold: 5,
        cooldownMs: 60_000,
        ttftThresholdMs: 5_000,
        ttftSlowThreshold: 3,
      },
    },
    ondemand_warmup: 'idle',
    ondemand_warmup_detail: {
      state: 'idle',
      lastWarmupAt: null,
      lastResult: null,
      durationMs: null,
      elapsedMs: null,
      usualMs: null,
    },
    config: {
      order: [...UPSTREAM_IDS],
      description: '',
      timeouts: perUpstream(30_000),
      models: perUpstream(null),
      env_hint: {},
    },
    hint: '',
    ...over,
  };
}

export function perUpstream<T>(value: T): Record<UpstreamId, T> {
  return { local: value, hosted_a: value, hosted_b: value, hosted_c: value, ondemand: value };
}

export function request(id: string, over: Partial<RequestRow> = {}): RequestRow {
  return {
    id,
    startedAt: NOW - 10_000,
    caller: { key: null, address: null, userAgent: null },
    endpoint: 'chat/completions',
    model: 'qwen3',
    stream: true,
    key: null,
    state: 'done',
    upstream: 'local',
    status: 200,
    fallbackReason: 'none',
    events: 10,
    endMs: 900,
    tokens: null,
    spentNano: 0,
    attempts: [],
    attemptCount: over.attempts?.length ?? 0,
    ...over,
  };
}

export function attempt(over: Partial<AttemptRow> = {}): AttemptRow {
  return {
    upstream: 'local',
    provider: null,
    machine: null,
    cause: 'turn',
    startMs: 0,
    polls: 0,
    firstContentMs: null,
    lastContentMs: null,
    endMs: null,
    reason: null,
    error: null,
    model: null,
    circuitBefore: 'closed',
    circuitAfter: null,
    tokens: null,
    cutAtTokens: null,
    ...over,
  };
}

export const APP: AppInfo = {
  version: '0.1.0',
  baseUrl: 'http://localhost:47900/v1',
  warmupEnabled: true,
  command: 'inglenook',
  currency: 'EUR',
};

interface SnapshotOver extends Partial<LiveSnapshot> {
  /** What only the gateway knows; left out: what follows from the report. */
  readonly local?: LocalStanding;
  readonly probing?: readonly UpstreamId[];
}

export function snapshot({ local, probing = [], ...over }: SnapshotOver = {}): LiveSnapshot {
  const { status: report = status() } = over;
  const { sightings = sightingsOf(report) } = over;
  const evidence = { status: report, sightings, probing: new Set(probing) };
  return {
    kind: 'snapshot',
    status: report,
    inFlight: perUpstream(0),
    sightings,
    judgement: judge({ ...evidence, local: local ?? standingOf(report) }),
    requests: [],
    app: APP,
    providers: NO_PROVIDERS,
    outcomes: NO_OUTCOMES,
    moves: [],
    keyRefusals: null,
    ...over,
  };
}

const NO_PROVIDERS: ProvidersSummary = {
  revision: 0,
  count: 0,
  verified: 0,
  pending: 0,
  verifying: 0,
  failed: 0,
  serving: 0,
  models: 0,
  load: null,
};

const NO_OUTCOMES: OutcomeCounts = {
  ended: { 'first-choice': 0, 'fell-back': 0, failed: 0 },
  upstreams: perUpstream({ asked: 0, answered: 0, retries: 0, polls: 0 }),
};

/** Machines that are counted are expected to serve; why they do not, only the gateway knows. */
function standingOf({ upstreams, local }: StatusReport): LocalStanding {
  const report = upstreams.find(({ id }) => id === 'local');
  const isThere = report?.healthy || report?.circuit.open || (report?.skips.length ?? 0) > 0;
  if (isThere || typeof report?.baseUrl === 'string') return { kind: 'present', hindrance: null };
  const { verified_count, pending_count, failed_count } = local;
  const machines = verified_count + pending_count + failed_count;
  return { kind: 'absent', cause: machines === 0 ? null : 'failed' };
}

export function delta(over: Partial<LiveDelta> = {}): LiveDelta {
  return { kind: 'delta', upsert: [], remove: [], ...over };
}

/** As the gateway reports them of upstreams that have been asked and not checked. */
function sightingsOf({ upstreams }: StatusReport): Record<UpstreamId, Sighting> {
  const failing = upstreams.filter(({ circuit: { consecutiveFails } }) => consecutiveFails > 0);
  const served: Sighting = { kind: 'answered', by: 'request' };
  const failed: Sighting = { kind: 'failed', by: 'request', reason: 'unreachable' };
  return { ...perUpstream(served), ...Object.fromEntries(failing.map(({ id }) => [id, failed])) };
}

/** What the page knows right after the snapshot. */
export function live(over: SnapshotOver = {}): LiveData {
  const data = applyEvent(null, snapshot(over), NOW);
  if (!data) throw new Error('a snapshot always gives data');
  return data;
}
