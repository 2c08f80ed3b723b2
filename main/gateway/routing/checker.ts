import { isUpstreamId, PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { type Clock, dualTimeOf, remainingMs } from '../../platform/clock.ts';
import type { Config } from '../../config/schema.ts';
import type { Opening } from '../circuits/breaker.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { forgetSeen, noteCheck, seenOf } from '../circuits/seen.ts';
import type { Memory } from '../memory/memory.ts';
import { type CheckHealth, type HealthCheckResult, isUp } from './health-check-routes.ts';
import type { UpstreamCall } from '../upstream/call.ts';

/**
 * Asks upstreams and machines whether they are up, by requests that cost nothing: those whose circuit is open, and, while
 * a window is open, those that no request has told of lately. Each has one timetable, and one check at a time: who needs
 * to know sooner joins it.
 */
export type Checker = ReturnType<typeof createChecker>;

export interface CheckerDeps {
  readonly memory: Memory;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly circuits: Circuits;
  readonly checkHealth: CheckHealth;
  readonly inFlightAt: (id: string) => number;
  /** Whether `local` is machines, which are verified: requests and verifications tell of it. */
  readonly isPooled: () => boolean;
  /** A check has shown something new. */
  readonly onChange: () => void;
}

/** The time from an opening or a failed probe to the first check that counts, and so to the next probe. */
const FIRST_CHECK_MS = 15_000;
/** Timers of Node fire up to a millisecond early, and the circuit of a pool opens after that of its last machine. */
const EARLY_MS = 10;
const OPEN_INTERVAL_MS = 5000;
/** A circuit that is open for longer is checked less often. */
const LONG_OPEN_MS = 600_000;
const LONG_OPEN_INTERVAL_MS = 15_000;
/** For an open window. It is shorter for an engine of the owner's own, who may be stopping or starting it. */
const watchedIntervalMs = (id: string) => (id === 'local' ? 5000 : 30_000);
/** A pool may have thousands of machines: further checks are put off. */
const MAX_CONCURRENT = 16;
const PUT_OFF_MS = 1000;

/** Times in clock ticks. */
interface Outage {
  readonly openedAt: number;
  /** The opening or the last failed probe. */
  failedAt: number;
  /** It hung although it passed its checks, or before the first: passed checks do not count until one fails. */
  isDoubted: boolean;
  /** Null before the first check. */
  lastPassed: boolean | null;
}

interface Timetable {
  /** Start and end of the last turn, in clock ticks. */
  lastAt: number;
  endedAt: number;
  /** While its circuit is open; null before. */
  outage: Outage | null;
  cancelTimer: () => void;
}

const isOn = ({ routing }: Config): boolean => routing.healthChecks;

const isMachine = (id: string): boolean => id.startsWith(PROVIDER_PREFIX);

/** Runs at most one check of each at a time. */
function createRunningChecks({ memory, clock, checkHealth, onChange }: CheckerDeps) {
  const running = new Map<string, Promise<HealthCheckResult>>();
  return {
    /** Null if there is nothing to ask. */
    check(id: string): Promise<HealthCheckResult> | null {
      const joined = running.get(id) ?? checkHealth(id);
      if (joined === null || running.has(id)) return joined;
      const known = memory.of(id);
      const noted = joined.then((result) => {
        if (running.get(id) === noted) running.delete(id);
        if (result.kind !== 'answered' && result.kind !== 'failed') return result;
        const failure = result.kind === 'failed' ? result.reason : null;
        if (noteCheck(known, { at: clock.now(), failure, isTest: false })) onChange();
        return result;
      });
      running.set(id, noted);
      return noted;
    },
    /** Nobody joins it any more. */
    drop: (id: string) => void running.delete(id),
    count: () => running.size,
  };
}

function openDueAt({ openedAt, failedAt }: Outage, lastAt: number): number {
  const isLong = lastAt - openedAt >= LONG_OPEN_MS;
  const intervalMs = isLong ? LONG_OPEN_INTERVAL_MS : OPEN_INTERVAL_MS;
  return Math.max(failedAt + FIRST_CHECK_MS, lastAt + intervalMs);
}

/** What is left of a cool-down; null while a probe runs, which may leave the rest of it. */
function coolingMs(id: string, { circuits, clock }: CheckerDeps): number | null {
  const { state } = circuits.at(id).breaker;
  if (state.kind !== 'open') return state.kind === 'closed' ? 0 : null;
  return remainingMs(state.until, dualTimeOf(clock));
}

/** Requests tell of it. */
function isServing(id: string, { circuits, memory, clock, inFlightAt }: CheckerDeps): boolean {
  const { lastSuccessAt, consecutiveFails } = circuits.at(id).breaker.health;
  const { since } = seenOf(memory.of(id));
  const servedAt = Math.max(lastSuccessAt ?? 0, since);
  const isFresh = consecutiveFails === 0 && clock.now() - servedAt < watchedIntervalMs(id);
  return inFlightAt(id) > 0 || (servedAt > since && isFresh);
}

export function createChecker(deps: CheckerDeps) {
  const { memory, clock, config, circuits } = deps;
  const checks = createRunningChecks(deps);
  const timetables = new Map<string, Timetable>();
  let isWatched = false;
  let isStopped = false;

  function timetableOf(id: string): Timetable {
    const known = timetables.get(id);
    if (known !== undefined) return known;
    const fresh = { lastAt: -Infinity, endedAt: -Infinity, outage: null, cancelTimer() {} };
    timetables.set(id, fresh);
    return fresh;
  }

  /** No request tells of it, nor of one of its machines. */
  const isUnseen = (id: string, isPressing = false) =>
    isUpstreamId(id) &&
    !(id === 'local' && deps.isPooled()) &&
    (isPressing || !isServing(id, deps));

  /** When the cool-down is over the next request is the probe. */
  const isCooling = (id: string) => (coolingMs(id, deps) ?? 0) > 0;

  async function takeTurn(id: string, isPressing = false): Promise<void> {
    const timetable = timetableOf(id);
    timetable.cancelTimer();
    if (checks.count() >= MAX_CONCURRENT && isMachine(id)) {
      turnIn(id, PUT_OFF_MS);
      return;
    }
    const startedAt = clock.ticks();
    timetable.lastAt = startedAt;
    const outage = isCooling(id) ? timetable.outage : null;
    const isWanted = outage !== null || (isWatched && isUnseen(id, isPressing));
    const result = isOn(config()) && isWanted ? await checks.check(id) : null;
    if (timetables.get(id) !== timetable) return;
    timetable.endedAt = clock.ticks();
    const failedAt = outage?.failedAt ?? Infinity;
    const isDue = startedAt - failedAt >= (isPressing ? 0 : FIRST_CHECK_MS - EARLY_MS);
    if (outage !== null && result !== null && isDue) conclude(id, outage, isUp(result));
    plan(id);
  }

  function conclude(id: string, outage: Outage, hasPassed: boolean | null): void {
    if (hasPassed === null) return;
    outage.lastPassed = hasPassed;
    if (!hasPassed) outage.isDoubted = false;
    else if (!outage.isDoubted) endCooldown(id);
  }

  function endCooldown(id: string): void {
    circuits.coolDown(id);
    // The pool's circuit opens when all of its machines fail: one that has recovered ends its cool-down too.
    const pool = timetables.get('local')?.outage ?? null;
    if (!isMachine(id) || pool === null || pool.isDoubted) return;
    if (clock.ticks() - pool.failedAt >= FIRST_CHECK_MS - EARLY_MS) circuits.coolDown('local');
  }

  function turnIn(id: string, ms: number): void {
    const timetable = timetableOf(id);
    timetable.cancelTimer();
    if (!isStopped) timetable.cancelTimer = clock.after(ms, () => void takeTurn(id));
  }

  function plan(id: string): void {
    const { outage, lastAt, endedAt, cancelTimer } = timetableOf(id);
    const openAt =
      outage === null || coolingMs(id, deps) === 0 ? Infinity : openDueAt(outage, lastAt);
    const watchedAt = isWatched && isUpstreamId(id) ? endedAt + watchedIntervalMs(id) : Infinity;
    const at = Math.min(openAt, watchedAt);
    cancelTimer();
    if (at < Infinity) turnIn(id, Math.max(0, at - clock.ticks()));
  }

  function drop(id: string): void {
    timetables.get(id)?.cancelTimer();
    timetables.delete(id);
    checks.drop(id);
  }

  return {
    check: (id: string) => checks.check(id),
    removed: drop,
    /** The first window was opened, or the last was closed. */
    watched(now: boolean) {
      isWatched = now;
      for (const id of UPSTREAM_IDS)
        if (now) void takeTurn(id);
        else plan(id);
    },
    /** What was seen of an upstream no longer counts, as its settings have changed; a running check is dropped. */
    changed(id: UpstreamId) {
      drop(id);
      forgetSeen(memory.of(id), clock.now());
      if (isWatched) void takeTurn(id);
    },
    /** Checks what would be checked if a window were open; resolves when all have answered. */
    async look() {
      if (isWatched || !isOn(config())) return;
      const due = UPSTREAM_IDS.filter((id) => isUnseen(id));
      await Promise.all(due.map(async (id) => checks.check(id)));
    },
    /** Something has changed at an upstream, or, as after a sleep, at all whose circuit is open: not in its turn, but now. */
    checkNow(only?: string) {
      const open = [...timetables].filter(([, { outage }]) => outage !== null);
      for (const id of only === undefined ? open.map(([each]) => each) : [only])
        void takeTurn(id, true);
    },
    /** Call it when a circuit has opened, or its probe has failed. */
    opened(id: string, { isFirst, wasSilent }: Opening) {
      const timetable = timetableOf(id);
      const { outage } = timetable;
      const failedAt = clock.ticks();
      if (isFirst || outage === null) {
        timetable.outage = { openedAt: failedAt, failedAt, isDoubted: wasSilent, lastPassed: null };
      } else {
        outage.failedAt = failedAt;
        outage.isDoubted = wasSilent && outage.lastPassed !== false;
      }
      plan(id);
    },
    /** A verification has passed, whose completion tells more than a check. */
    passed(id: string) {
      const outage = timetables.get(id)?.outage ?? null;
      if (outage !== null && !outage.isDoubted) endCooldown(id);
    },
    /** A machine or its engine is available again: the next request may probe it at once. */
    recovered(id: string) {
      if (noteCheck(memory.of(id), { at: clock.now(), failure: null, isTest: true }))
        deps.onChange();
      circuits.coolDown(id);
      // The pool's circuit opens when all of its machines are excluded.
      circuits.coolDown('local');
    },
    /** Takes over circuits that an earlier run left open. */
    start() {
      for (const id of memory.ids('circuit')) {
        if (circuits.at(id).breaker.state.kind === 'open')
          this.opened(id, { isFirst: true, wasSilent: false });
      }
    },
    stop() {
      isStopped = true;
      for (const { cancelTimer } of timetables.values()) cancelTimer();
    },
  };
}

export type HungWatch = ReturnType<typeof createHungWatch>;

interface HungWatchDeps {
  readonly clock: Clock;
  readonly config: () => Config;
  readonly check: CheckHealth;
  readonly inFlightAt: (id: string) => number;
}

/**
 * Engines that answer a health check while they compute, by `owned_by`, and with how many calls at most. Others answer
 * nothing while they compute. Older builds of llama.cpp have two threads for HTTP more than slots, and a call keeps one.
 */
const ANSWERS_WITH: ReadonlyMap<string | null, number> = new Map([
  ['llamacpp', 2],
  ['vllm', Infinity],
  // Ollama
  ['library', Infinity],
]);

/** A hung engine is left within 20 s, because two unanswered checks follow this silence of a call. */
const MAX_UNCHECKED_MS = 10_000;

/** One unanswered check may be a machine that is swapping. */
const CHECKS_FAILED = 2;
/** The pauses after an answered check and after a failed one. */
const [PAUSE_MS, AGAIN_MS] = [5000, 1000];

/** Tells an engine that has hung from one that is slow: only the latter answers its health check. */
export function createHungWatch({ clock, config, check, inFlightAt }: HungWatchDeps) {
  /**
   * Calls `onHung` if the engine turns out to have hung. The result ends that, when the call is no longer silent; null if
   * nothing is watched.
   */
  return (id: string, call: UpstreamCall, onHung: () => void): (() => void) | null => {
    // An agent answers whatever its engine does.
    const most = call.provider === null ? (ANSWERS_WITH.get(call.prefill.ownedBy) ?? 0) : Infinity;
    if (most === 0 || call.upstream !== 'local') return null;
    let failed = 0;
    let isOver = false;
    const afterMs = Math.min(config().circuit.ttftThresholdMs, MAX_UNCHECKED_MS);
    let cancelTimer = clock.after(afterMs, () => void checkOnce());

    async function checkOnce(): Promise<void> {
      const result = isOn(config()) && inFlightAt(id) <= most ? await check(id) : null;
      if (isOver) return;
      const isUnanswered = result?.kind === 'failed' && result.reason === 'timeout';
      failed = isUnanswered ? failed + 1 : 0;
      if (failed === CHECKS_FAILED) onHung();
      else cancelTimer = clock.after(isUnanswered ? AGAIN_MS : PAUSE_MS, () => void checkOnce());
    }

    return () => {
      isOver = true;
      cancelTimer();
    };
  };
}
