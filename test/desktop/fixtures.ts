import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { AppInfo, LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { HostApi, WarmupChange } from '../../main/desktop/electron-api.ts';

const LABELS: Readonly<Record<UpstreamId, string>> = {
  local: 'Local',
  hosted_a: 'Groq',
  hosted_b: 'Together',
  hosted_c: 'Hosted C',
  ondemand: 'RunPod',
};

export interface Scene {
  /** Upstreams that are set up, by default all of them; the rest are not configured. */
  readonly configured?: readonly UpstreamId[];
  /** Of those, the ones whose breaker is open. */
  readonly open?: readonly UpstreamId[];
  /** Of those, the ones that are skipped, and why. */
  readonly skipped?: Readonly<Partial<Record<UpstreamId, string>>>;
  readonly ok?: boolean;
  readonly localHealth?: StatusReport['local']['health'];
  readonly forceZero?: boolean;
  readonly inFlight?: Readonly<Partial<Record<UpstreamId, number>>>;
  readonly labels?: Readonly<Partial<Record<UpstreamId, string>>>;
  readonly warmupEnabled?: boolean;
}

function upstream(id: UpstreamId, scene: Scene): UpstreamReport {
  const configured = (scene.configured ?? UPSTREAM_IDS).includes(id);
  const open = scene.open?.includes(id) ?? false;
  const skip = scene.skipped?.[id];
  return {
    id,
    label: scene.labels?.[id] ?? LABELS[id],
    baseUrl: configured && id !== 'local' ? `https://${id}.example` : null,
    chatPath: '/chat/completions',
    model: 'm',
    apiKeyEnv: 'KEY',
    hasKey: configured,
    timeoutMs: 30_000,
    apiKeyPreview: null,
    circuit: {
      fails: 0,
      successes: 0,
      failUntil: null,
      lastError: null,
      lastFailAt: null,
      lastSuccessAt: null,
      consecutiveFails: 0,
      open,
      cooldownRemainingMs: open ? 60_000 : 0,
      ewmaTtft: null,
      lastTtftMs: null,
      consecutiveSlow: 0,
    },
    healthy: configured && !open && skip === undefined,
    skips: skip === undefined ? [] : [{ reason: skip, until: '2026-11-20T00:00:00.000Z' }],
  };
}

function forEach<T>(value: T): Record<UpstreamId, T> {
  return { local: value, hosted_a: value, hosted_b: value, hosted_c: value, ondemand: value };
}

/** A status report as the gateway would give it in this scene. */
function statusOf(scene: Scene): StatusReport {
  const configured = scene.configured ?? UPSTREAM_IDS;
  const local = configured.includes('local');
  return {
    ok: scene.ok ?? configured.length > 0,
    timestamp: '2026-11-20T00:00:00.000Z',
    forceZero: scene.forceZero ?? false,
    zero: scene.forceZero ?? false,
    gateway_forceZero_header: '0',
    local: {
      verified_count: local ? 1 : 0,
      pending_count: 0,
      failed_count: 0,
      provider: null,
      health: scene.localHealth ?? (local ? 'ok' : 'unavailable'),
    },
    upstreams: UPSTREAM_IDS.map((id) => upstream(id, scene)),
    circuits: {},
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
        ttftThresholdMs: 5000,
        ttftSlowThreshold: 3,
      },
    },
    ondemand_warmup: 'idle',
    ondemand_warmup_detail: {
      state: 'idle',
      lastWarmupAt: null,
      lastResult: null,
      durationMs: null,
    },
    config: {
      order: [...UPSTREAM_IDS],
      description: '',
      timeouts: forEach(30_000),
      models: forEach(null),
      env_hint: {},
    },
    hint: '',
  };
}

/** What the host knows in this scene. */
export function snapshotOf(scene: Scene): LiveSnapshot {
  const app: AppInfo = {
    version: '0.1.0',
    baseUrl: 'http://localhost:47900/v1',
    warmupEnabled: scene.warmupEnabled ?? true,
  };
  return {
    kind: 'snapshot',
    status: statusOf(scene),
    inFlight: { ...forEach(0), ...scene.inFlight },
    requests: [],
    app,
  };
}

export interface FakeHost extends HostApi {
  /** Calls that came in, in order. */
  readonly calls: string[];
  /** Changes the scene and tells the subscribers. */
  change(scene: Scene): void;
  /** Lets `stop()` finish. */
  finishStop(error?: Error): void;
}

/** A host that serves nobody: a scene to show, and promises that the test settles. */
export function createFakeHost(
  first: Scene = {},
  startError: Error | null = null,
  onWarmup: (enabled: boolean) => Promise<WarmupChange> = () => Promise.resolve({ ok: true }),
): FakeHost {
  const calls: string[] = [];
  const listeners = new Set<(event: LiveEvent) => void>();
  const stopped = Promise.withResolvers<void>();
  let scene = first;
  let codes = 0;
  return {
    calls,
    start() {
      calls.push('start');
      if (startError !== null) return Promise.reject(startError);
      return Promise.resolve({
        url: 'http://127.0.0.1:47900',
        baseUrl: 'http://localhost:47900/v1',
      });
    },
    stop() {
      calls.push('stop');
      return stopped.promise;
    },
    finishStop(error) {
      if (error === undefined) stopped.resolve();
      else stopped.reject(error);
    },
    snapshot: () => snapshotOf(scene),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async setWarmup(enabled) {
      calls.push(`warmup ${enabled}`);
      const change = await onWarmup(enabled);
      if (change.ok) scene = { ...scene, warmupEnabled: enabled };
      return change;
    },
    controlLink: () => `http://127.0.0.1:47900/#code=${++codes}`,
    change(next) {
      scene = next;
      for (const listener of listeners) listener(snapshotOf(next));
    },
  };
}
