import {
  judge,
  type Judgement,
  type LocalStanding,
  nextEndMs,
  type NoProviderCause,
  pauseOf,
} from '#shared/condition.ts';
import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type {
  AppInfo,
  LiveDelta,
  LiveEvent,
  LiveSnapshot,
  ProvidersSummary,
} from '#shared/live.ts';
import type { LocalProvider, ProviderEnergy, VerificationProof } from '#shared/provider.ts';
import type { PoolReport, StatusReport } from '#shared/status.ts';
import type { KeyLimitValues } from '../../config/key-file.ts';
import type { Config } from '../../config/schema.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Log } from '../../platform/log.ts';
import type { StateFile } from '../../platform/files.ts';
import { type Circuits, type CircuitsDeps, createCircuits } from '../circuits/circuits.ts';
import type { EngineAt } from '../routing/windows.ts';
import type { Memory } from '../memory/memory.ts';
import { createWarmup } from '../routing/warmup.ts';
import {
  circuitIdOf,
  type LocalChoice,
  type LocalTarget,
  localModel,
} from '../upstream/upstreams.ts';
import { createBudgets, createKeyLimits } from '../usage/budgets.ts';
import { createUsageRecorder, type UsageStore } from '../usage/recorder.ts';
import { createCounters } from './counters.ts';
import { createKeyRefusals } from './key-refusals.ts';
import { movesIn } from './moves.ts';
import { createRequestLogs, type ReportProviderResult } from './request-log.ts';
import { restoreState, stateToSave } from './saved-state.ts';
import { sightingsOf } from './sightings.ts';
import { NO_REQUEST, statusReport, type StatusScope } from './status.ts';
import { firstBack } from '../routing/local-pool.ts';

/** The machines of the registry. */
export interface KnownMachines {
  readonly summary: () => ProvidersSummary;
  /** The excerpt of a machine, or with null that of the machine with the latest heartbeat. Null if there is none. */
  readonly excerpt: (id: string | null) => LocalProvider | null;
  /** The machines of the default list, in its order; at most `limit`. */
  readonly ids: (limit: number) => readonly string[];
  /** Null if no other gateways share the registry. */
  readonly pool: () => PoolReport | null;
  /** Why no machine serves; null if none is expected to. */
  readonly absence: () => NoProviderCause | null;
  /** What the verifications of a machine have shown; null before the first. */
  readonly proof: (id: string) => VerificationProof | null;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  /** What the answers of a machine take in electricity; null while unknown. */
  readonly energyOf: (id: string) => ProviderEnergy | null;
  readonly routed: ReportProviderResult;
}

/** What it gets from the program that the gateway is part of. */
export interface MonitorDeps {
  readonly config: () => Config;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
  readonly engineAt: EngineAt;
  readonly machines: KnownMachines;
  /** Opens the file that stores what `save` returns. */
  readonly keep: (save: () => unknown) => StateFile;
  readonly usage: UsageStore;
  readonly keys: { readonly limitsOf: (key: string) => KeyLimitValues };
}

/** What it gets from the gateway. */
interface GatewayParts {
  readonly memory: Memory;
  readonly pickLocal: () => LocalChoice;
  readonly app: () => AppInfo;
  readonly admission: () => StatusReport['admission'];
  /** A first window was opened, or the last was closed. */
  readonly watched: (isWatched: boolean) => void;
  /** Called when a circuit opens or its probe fails. */
  readonly opened: CircuitsDeps['opened'];
}

/** State about upstreams and requests: circuits, counters, logs, and the feed that reports their changes. */
export type Monitor = ReturnType<typeof createMonitor>;

/** Machines that were never called have no data to report, so their number is limited to keep the report readable. */
const MAX_UNASKED = 1000;

/** Restores the state of an earlier run. */
export function createMonitor(deps: MonitorDeps, gateway: GatewayParts) {
  const { clock, config, http, log, random, machines } = deps;
  const { memory, opened, pickLocal, watched } = gateway;
  const counters = createCounters();
  const feed = createLiveFeed({ clock, current, watched });
  const keyRefusals = createKeyRefusals(clock, feed.changed);
  function changed(): void {
    state.changed();
    feed.changed();
  }
  const circuits = createCircuits({ memory, clock, random, config, changed, opened });
  function sightings() {
    const choice = pickLocal();
    const pool =
      choice.kind === 'tier'
        ? choice.targets.filter((each) => hindranceAt(each, circuits) === null)
        : null;
    return sightingsOf(pool?.map(circuitIdOf) ?? null, { memory, circuits, proof: machines.proof });
  }

  function current() {
    const seen = { status: status('0'), sightings: sightings() };
    const requests = logs.rows();
    const local = localStanding(pickLocal(), { circuits, machines });
    return {
      ...seen,
      inFlight: counters.inFlight(),
      judgement: judge({ ...seen, local, probing: probingIn(circuits) }),
      providers: machines.summary(),
      outcomes: counters.outcomes(),
      moves: movesIn(requests, clock.now()),
      keyRefusals: keyRefusals.view(),
      app: gateway.app(),
      requests,
    };
  }

  const warmup = createWarmup({ http, clock }, changed);
  const { part, before, rows: earlier } = deps.usage;
  const budgets = createBudgets(before.spent, { clock, config, log, changed: feed.changed });
  const keyLimits = createKeyLimits(before, { clock, log, limitsOf: deps.keys.limitsOf });
  const { energyOf } = machines;
  const usage = createUsageRecorder(part, { clock, config, budgets, keyLimits, energyOf });
  const saved = { counters, memory, warmup };
  const state = deps.keep(() => stateToSave(saved, config()));
  restoreState(state.load(), saved, config());
  function providerIds(scope: StatusScope): readonly string[] {
    const asked = memory.ids('circuit').filter((id) => id.startsWith(PROVIDER_PREFIX));
    return scope === 'asked' ? asked : [...new Set([...asked, ...machines.ids(MAX_UNASKED)])];
  }

  const status = (forceZeroHeader: string, scope: StatusScope = 'asked') =>
    statusReport({
      config: config(),
      totals: counters.totals(),
      warmup: warmup.view(),
      local: pickLocal(),
      summary: machines.summary(),
      excerptOf: machines.excerpt,
      pool: machines.pool(),
      providerIds: providerIds(scope),
      memory,
      engineAt: deps.engineAt,
      circuitAt: (id) => circuits.at(id),
      now: dualTimeOf(clock),
      forceZeroHeader,
      admission: gateway.admission(),
      budgetAt: (id) => budgets.at(id),
    });
  const logs = createRequestLogs({
    clock,
    log,
    memory,
    routed: machines.routed,
    nameOf: machines.nameOf,
    counters,
    changed: feed.requestChanged,
    usage,
    unsaved: state.changed,
    earlier,
  });
  return {
    logs,
    circuits,
    counters,
    refusedKey: keyRefusals.refused,
    warmup,
    feed,
    budgets,
    keyLimits,
    usage,
    /** Something that outlives a restart has changed. */
    unsaved: () => state.changed(),
    status,
    sightings,
    flush: async (): Promise<void> => {
      await state.flush();
      await usage.close();
    },
  };
}

interface LiveSources {
  readonly clock: Clock;
  readonly current: () => Omit<LiveSnapshot, 'kind'>;
  /** Called when the first subscriber has come, or the last has gone. */
  readonly watched: (isWatched: boolean) => void;
}

const INTERVAL_MS = 250;

/** Timers hold at most 2^31 - 1 ms, and an exclusion may last until the next month. */
const LONGEST_WAIT_MS = 3_600_000;

/** Sends changes to its subscribers, at most four times per second. */
function createLiveFeed({ clock, current, watched }: LiveSources) {
  const listeners = new Set<(event: LiveEvent) => void>();
  let changedIds = new Set<string>();
  let scheduled = false;
  let cancelWait = (): void => undefined;

  function schedule(): void {
    if (scheduled || listeners.size === 0) return;
    scheduled = true;
    clock.after(INTERVAL_MS, flush);
  }

  function flush(): void {
    scheduled = false;
    const { requests, ...now } = current();
    const delta: LiveDelta = {
      kind: 'delta',
      ...now,
      upsert: requests.filter(({ id }) => changedIds.has(id)),
      remove: [...changedIds].filter((id) => !requests.some((row) => row.id === id)),
    };
    changedIds = new Set();
    if (delta.judgement) waitFrom(delta.judgement);
    for (const listener of listeners) listener(delta);
  }

  /** Reports again once a cool-down or an exclusion is over: time alone may change who serves next. */
  function waitFrom(judgement: Judgement): void {
    cancelWait();
    const waitMs = nextEndMs(judgement);
    if (waitMs === null || listeners.size === 0) return;
    cancelWait = clock.after(Math.min(waitMs, LONGEST_WAIT_MS), schedule);
  }

  return {
    snapshot: (): LiveSnapshot => ({ kind: 'snapshot', ...current() }),
    subscribe(listener: (event: LiveEvent) => void): () => void {
      listeners.add(listener);
      if (listeners.size === 1) {
        watched(true);
        waitFrom(current().judgement);
      }
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        cancelWait();
        watched(false);
      };
    },
    /** Its row has changed, or is no longer among the rows. */
    requestChanged: (id: string): void => {
      if (listeners.size === 0) return;
      changedIds.add(id);
      schedule();
    },
    /** For changes other than those of requests, such as a warm-up or a setting. */
    changed: schedule,
  };
}

/* What the status report does not say of the upstreams, for the judgement. */

function localStanding(
  choice: LocalChoice,
  { circuits, machines }: Pick<MonitorDeps, 'machines'> & { readonly circuits: Circuits },
): LocalStanding {
  switch (choice.kind) {
    case 'none':
      return { kind: 'absent', cause: choice.reason === 'paused' ? 'paused' : machines.absence() };
    case 'target':
      return { kind: 'present', hindrance: null };
    case 'tier': {
      const hindrances = choice.targets.map((target) => hindranceAt(target, circuits));
      const isFree = hindrances.includes(null);
      return { kind: 'present', hindrance: isFree ? null : firstBack(hindrances) };
    }
  }
}

/** What keeps a request that names no model from a machine now; null: nothing. */
function hindranceAt(target: LocalTarget, circuits: Circuits) {
  const id = circuitIdOf(target);
  const excluded = circuits.exclusionOf(id, localModel(target, NO_REQUEST) ?? '');
  return excluded && { ...excluded, pause: pauseOf(circuits.at(id).breaker.health) };
}

/** Upstreams whose probe keeps other requests away, as one that answers does not. */
function probingIn(circuits: Circuits): ReadonlySet<string> {
  const isClosedToOthers = (id: UpstreamId) => {
    const { state } = circuits.at(id).breaker;
    return state.kind === 'probing' && !state.isAnswering;
  };
  return new Set(UPSTREAM_IDS.filter(isClosedToOthers));
}
