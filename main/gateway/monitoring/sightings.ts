import { mapUpstreams, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Sighting, UpstreamTest } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HealthRecord } from '../circuits/breaker.ts';
import { isUp, type CheckHealth, type HealthCheckResult } from '../routing/health-check-routes.ts';

/**
 * What is known about each upstream from requests, checks and tests. Upstreams without requests are checked while a
 * window is open; routing does not use any of this.
 */
export type Sightings = ReturnType<typeof createSightings>;

export interface SightingsDeps {
  readonly clock: Clock;
  readonly isOn: () => boolean;
  readonly checkHealth: CheckHealth;
  readonly healthAt: (id: UpstreamId) => HealthRecord;
  readonly inFlightAt: (id: UpstreamId) => number;
  /** The machines of the pool are verified: no further check is needed. */
  readonly isPool: () => boolean;
  /** Called when a sighting has changed. */
  readonly onChange: () => void;
}

const INTERVAL_MS = 30_000;
/** Shorter, because the owner of an engine that is down may be starting it. */
const OWN_FAILED_INTERVAL_MS = 5000;

interface CheckResult {
  /** Milliseconds since the epoch, like all times in this file. */
  readonly at: number;
  /** Null if it answered. */
  readonly failure: string | null;
  /** Whether it answered with a completion, not only with a list of models. */
  readonly isTest: boolean;
}

/** Replaced as a whole when the upstream's settings change, so that a running check is dropped. */
interface CheckState {
  /** Anything older belongs to earlier settings. */
  readonly since: number;
  last: CheckResult | null;
  lastFailedAt: number | null;
  cancelTimer: () => void;
}

export function createSightings(deps: SightingsDeps) {
  const { clock, isOn, checkHealth, healthAt, inFlightAt, isPool, onChange } = deps;
  const known = mapUpstreams(() => unknown(0));
  let isWatched = false;

  function note(id: UpstreamId, before: CheckState, seen: CheckResult): void {
    if (known[id] !== before) return;
    const { last } = before;
    before.last = seen;
    if (seen.failure !== null) before.lastFailedAt = seen.at;
    if (last === null || last.failure !== seen.failure || last.isTest !== seen.isTest) onChange();
  }

  async function noted(
    id: UpstreamId,
    running: Promise<HealthCheckResult>,
  ): Promise<HealthCheckResult> {
    const before = known[id];
    const result = await running;
    if (result.kind === 'answered' || result.kind === 'failed') {
      const failure = result.kind === 'failed' ? result.reason : null;
      note(id, before, { at: clock.now(), failure, isTest: false });
    }
    return result;
  }

  function isAsked(id: UpstreamId): boolean {
    const { lastSuccessAt, consecutiveFails } = healthAt(id);
    const servedAt = Math.max(lastSuccessAt ?? 0, known[id].since);
    const isServing = consecutiveFails === 0 && clock.now() - servedAt < INTERVAL_MS;
    return inFlightAt(id) > 0 || (servedAt > known[id].since && isServing);
  }

  async function checkInTurn(id: UpstreamId): Promise<void> {
    const before = known[id];
    before.cancelTimer();
    const isDue = isOn() && !isAsked(id) && !(id === 'local' && isPool());
    const running = isDue ? checkHealth(id) : null;
    if (running !== null) await noted(id, running);
    if (!isWatched || known[id] !== before) return;
    const isOwnDown = id === 'local' && (before.last?.failure ?? null) !== null;
    const intervalMs = isOwnDown ? OWN_FAILED_INTERVAL_MS : INTERVAL_MS;
    before.cancelTimer();
    before.cancelTimer = clock.after(intervalMs, () => void checkInTurn(id));
  }

  return {
    /** The first window was opened, or the last was closed. */
    watched(now: boolean) {
      isWatched = now;
      for (const id of UPSTREAM_IDS) {
        known[id].cancelTimer();
        if (isWatched) void checkInTurn(id);
      }
    },
    /** The upstream has a new address, key or model. */
    changed(id: UpstreamId) {
      known[id].cancelTimer();
      known[id] = unknown(clock.now());
      if (isWatched) void checkInTurn(id);
    },
    /** Checks whether an upstream or a machine is up; null if nothing can be checked. */
    check(id: string) {
      const running = checkHealth(id);
      const upstream = UPSTREAM_IDS.find((each) => each === id);
      if (running === null) return null;
      return (upstream === undefined ? running : noted(upstream, running)).then(isUp);
    },
    /** The owner's test of an upstream has ended. */
    tested(id: UpstreamId, result: UpstreamTest) {
      const failure = result.ok ? null : result.reason;
      // Without a model, only the list of models was fetched.
      const isTest = !result.ok || result.model !== null;
      note(id, known[id], { at: clock.now(), failure, isTest });
    },
    view: () =>
      mapUpstreams((id) => {
        const { since, last, lastFailedAt } = known[id];
        const isVerified = id === 'local' && isPool();
        return sightingOf(healthAt(id), { since, last, lastFailedAt, isVerified });
      }),
  };
}

function unknown(since: number): CheckState {
  return { since, last: null, lastFailedAt: null, cancelTimer() {} };
}

/** What is known about an upstream besides the results of its requests. */
export interface CheckFacts extends Pick<CheckState, 'since' | 'last' | 'lastFailedAt'> {
  readonly isVerified: boolean;
}

export function sightingOf(health: HealthRecord, seen: CheckFacts): Sighting {
  const { lastSuccessAt, lastFailAt, lastError, consecutiveFails } = health;
  const { since, last } = seen;
  const servedAt = after(since, lastSuccessAt);
  const failedAt = after(since, lastFailAt);
  const error = lastError?.split(': ', 1)[0] ?? '';
  // What was seen before the last request is outdated.
  const check = last !== null && last.at >= Math.max(servedAt, failedAt) ? last : null;
  if (check?.failure) return { kind: 'failed', by: 'check', reason: check.failure };
  if (consecutiveFails > 0 && failedAt > 0) {
    return check !== null && showsRecovery(check, { ...seen, error, failedAt })
      ? { kind: 'answered', by: 'check' }
      : { kind: 'failed', by: 'request', reason: error };
  }
  if (servedAt > 0) return { kind: 'answered', by: 'request' };
  return seen.isVerified || last !== null
    ? { kind: 'answered', by: 'check' }
    : { kind: 'untested' };
}

/** `at` if it is later than `since`, otherwise 0. */
function after(since: number, at: number | null): number {
  return at !== null && at > since ? at : 0;
}

/**
 * Whether an answered check shows that the upstream has recovered. A list of models does not show this if the upstream
 * has listed its models all along.
 */
function showsRecovery(
  check: CheckResult,
  {
    error,
    failedAt,
    lastFailedAt,
  }: CheckFacts & { readonly error: string; readonly failedAt: number },
): boolean {
  if (check.isTest || error === 'unreachable') return true;
  return lastFailedAt !== null && lastFailedAt >= failedAt;
}
