import type { MachineMode, TrayFacts } from '../../main/desktop/tray-state.ts';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Sighting } from '#shared/condition.ts';
import type { LiveEvent, LiveSnapshot } from '#shared/live.ts';
import type { StatusReport, UpstreamReport, WarmupState } from '#shared/status.ts';
import type { Host } from '../../main/app/app.ts';
import { APP, circuit, perUpstream, snapshot, status, upstream } from '../renderer/builders.ts';

export interface Scene {
  /** Upstreams that are set up, by default all of them; the rest are not configured. */
  readonly configured?: readonly UpstreamId[];
  /** Of those, the ones whose breaker is open. */
  readonly open?: readonly UpstreamId[];
  /** Of those, the ones that are skipped, and why. */
  readonly skipped?: Readonly<Partial<Record<UpstreamId, string>>>;
  /** One that is used up is skipped, as the gateway does it. */
  readonly budgets?: Readonly<Partial<Record<UpstreamId, NonNullable<UpstreamReport['budget']>>>>;
  readonly ok?: boolean;
  readonly localHealth?: StatusReport['local']['health'];
  readonly forceZero?: boolean;
  readonly inFlight?: Readonly<Partial<Record<UpstreamId, number>>>;
  readonly labels?: Readonly<Partial<Record<UpstreamId, string>>>;
  readonly machine?: MachineMode;
  /** What was seen of upstreams; they have answered, if it is left out. */
  readonly sightings?: Partial<Record<UpstreamId, Sighting>>;
  readonly warmup?: WarmupState;
  readonly failedMachines?: number;
}

function budgetOf(id: UpstreamId, { budgets }: Scene): Pick<UpstreamReport, 'budget'> {
  const budget = budgets?.[id];
  return budget === undefined ? {} : { budget };
}

function skipOf(id: UpstreamId, scene: Scene): string | undefined {
  const { budget } = budgetOf(id, scene);
  const isSpent = budget !== undefined && budget.spent >= budget.limit;
  return isSpent ? 'budget' : scene.skipped?.[id];
}

/** Whether no machine of the local pool can serve. */
function isPoolOut(id: UpstreamId, { localHealth = 'ok' }: Scene): boolean {
  return id === 'local' && localHealth !== 'ok';
}

function upstreamOf(id: UpstreamId, scene: Scene): UpstreamReport {
  const configured = (scene.configured ?? UPSTREAM_IDS).includes(id);
  const open = scene.open?.includes(id) ?? false;
  const skip = skipOf(id, scene);
  const label = scene.labels?.[id];
  return upstream(id, {
    ...(label === undefined ? {} : { label }),
    baseUrl: configured && id !== 'local' ? `https://${id}.example` : null,
    hasKey: configured,
    circuit: circuit({ open, cooldownRemainingMs: open ? 60_000 : 0 }),
    healthy: configured && !open && skip === undefined && !isPoolOut(id, scene),
    ...budgetOf(id, scene),
    skips: skip === undefined ? [] : [{ reason: skip, until: '2026-11-21T00:00:00.000Z' }],
  });
}

/** A status report as the gateway would give it in this scene. */
function statusOf(scene: Scene): StatusReport {
  const configured = scene.configured ?? UPSTREAM_IDS;
  const local = configured.includes('local');
  return status(
    UPSTREAM_IDS.map((id) => upstreamOf(id, scene)),
    {
      ok: scene.ok ?? configured.length > 0,
      forceZero: scene.forceZero ?? false,
      zero: scene.forceZero ?? false,
      ondemand_warmup: scene.warmup ?? 'ready',
      local: {
        verified_count: local ? 1 : 0,
        pending_count: 0,
        failed_count: 0,
        provider: null,
        health: scene.localHealth ?? (local ? 'ok' : 'unavailable'),
        slow: null,
        windows: [],
      },
    },
  );
}

/** What the host knows in this scene. */
export function snapshotOf(scene: Scene): LiveSnapshot {
  const report = statusOf(scene);
  const answered: Sighting = { kind: 'answered', by: 'request' };
  const failed = scene.failedMachines ?? 0;
  return snapshot({
    status: report,
    sightings: { ...perUpstream(answered), ...scene.sightings },
    providers: {
      revision: 1,
      count: failed,
      verified: 0,
      pending: 0,
      verifying: 0,
      failed,
      serving: 0,
      models: 0,
      load: null,
    },
    inFlight: { ...perUpstream(0), ...scene.inFlight },
    app: APP,
  });
}

/** What the tray shows of this scene. */
export function factsOf(scene: Scene): TrayFacts {
  return { ...snapshotOf(scene), machine: scene.machine ?? 'on' };
}

export interface FakeHost extends Host {
  /** Calls that came in, in order. */
  readonly calls: string[];
  /** Changes the scene and tells the subscribers. */
  change(scene: Scene): void;
  /** A key was saved in the settings. */
  saveSecret(): void;
  /** Lets `stop()` finish. */
  finishStop(error?: Error): void;
}

/** A host without a gateway: live data to show, and promises that the test settles. */
export function createFakeHost(first: Scene = {}, startError: Error | null = null): FakeHost {
  const calls: string[] = [];
  const listeners = new Set<(event: LiveEvent) => void>();
  const stopped = Promise.withResolvers<void>();
  let scene = first;
  let codes = 0;
  let secretSaved = () => {};
  return {
    calls,
    notices: [],
    askForModels: () => undefined,
    checkNow: () => undefined,
    changed: () => undefined,
    start() {
      calls.push('start');
      if (startError !== null) return Promise.reject(startError);
      const url = 'http://127.0.0.1:47900';
      return Promise.resolve({ url, baseUrl: 'http://localhost:47900/v1' });
    },
    stop(graceMs) {
      calls.push(graceMs === undefined ? 'stop' : `stop within ${graceMs}`);
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
    setForceZero(enabled) {
      calls.push(`zero-spend ${enabled}`);
      scene = { ...scene, forceZero: enabled };
      return { kind: 'patched' };
    },
    machine: () => scene.machine ?? 'on',
    setMachine(choice) {
      calls.push(`machine ${choice}`);
      scene = { ...scene, machine: choice === 'drained' ? 'draining' : choice };
      return Promise.resolve();
    },
    freeMachine() {
      calls.push('free');
      scene = { ...scene, machine: 'paused' };
      return Promise.resolve();
    },
    keepSecretsIn(box) {
      calls.push(box === null ? 'keys to the file' : 'keys to the keychain');
      return { kind: 'patched' };
    },
    openSecrets: () => void calls.push('keys opened'),
    onSecretSaved: (listener) => void (secretSaved = listener),
    saveSecret: () => secretSaved(),
    resumed: () => void calls.push('resumed'),
    controlLink: () => `http://127.0.0.1:47900/#code=${++codes}`,
    change(next) {
      scene = next;
      for (const listener of listeners) listener(snapshotOf(next));
    },
  };
}
