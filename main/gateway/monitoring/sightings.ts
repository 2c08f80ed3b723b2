import { isUpstreamId, mapUpstreams, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Sighting } from '#shared/condition.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ExclusionReason } from '../memory/topics.ts';
import type { HealthRecord } from '../circuits/breaker.ts';
import type { TestOutcome } from '../upstream/upstream-test.ts';
import { isUp, type CheckHealth, type HealthCheckResult } from '../routing/health-check-routes.ts';

/**
 * What is known about each upstream from requests, checks and tests. Upstreams without requests are checked while a
 * window is open; routing does not use any of this.
 */
export type SightingsMonitor = ReturnType<typeof createSightings>;

export interface SightingsDeps {
  readonly clock: Clock;
  readonly isOn: () => boolean;
  readonly checkHealth: CheckHealth;
  readonly healthAt: (id: UpstreamId) => HealthRecord;
  readonly inFlightAt: (id: UpstreamId) => number;
  /** The machines that a request may go to, which are verified: no check is due; null if Local is one engine. */
  readonly pool: () => Iterable<MachineFacts> | null;
  readonly onChange: () => void;
}

export interface MachineFacts {
  readonly id: string;
  readonly health: HealthRecord;
  readonly proof: VerificationProof | null;
}

/** What the verifications of a machine have shown; times in milliseconds since the epoch. */
export interface VerificationProof {
  readonly checkedAt: number;
  readonly hasFailed: boolean;
  /** When a run's completion was last answered; null if none was. */
  readonly completedAt: number | null;
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
  /** The last failure that its circuit does not count: of a test, or a refusal that only a person can end. */
  setback: Setback | null;
  cancelTimer: () => void;
}

export function createSightings(deps: SightingsDeps) {
  const { clock, isOn, checkHealth, healthAt, inFlightAt, pool, onChange } = deps;
  const known: Record<UpstreamId, CheckState> = mapUpstreams(() => unknown(0));
  /** Of those that were checked because their circuit was open. */
  const machines = new Map<string, CheckState>();
  let isWatched = false;

  function stateOf(id: string): CheckState | undefined {
    return isUpstreamId(id) ? known[id] : machines.get(id);
  }

  function note(id: string, before: CheckState, seen: CheckResult): void {
    if (stateOf(id) !== before) return;
    const { last } = before;
    before.last = seen;
    if (seen.failure !== null) before.lastFailedAt = seen.at;
    if (last === null || last.failure !== seen.failure || last.isTest !== seen.isTest) onChange();
  }

  function machineState(id: string): CheckState {
    const state = machines.get(id) ?? unknown(0);
    machines.set(id, state);
    return state;
  }

  async function noted(
    id: string,
    before: CheckState,
    running: Promise<HealthCheckResult>,
  ): Promise<HealthCheckResult> {
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

  /** Its machines are verified: requests and verifications tell of it. */
  const isPool = (id: UpstreamId) => id === 'local' && pool() !== null;

  async function checkInTurn(id: UpstreamId, isPressing = false): Promise<void> {
    const before = known[id];
    before.cancelTimer();
    const isServing = !isPressing && isAsked(id);
    const isDue = isOn() && !isServing && !isPool(id);
    const running = isDue ? checkHealth(id) : null;
    if (running !== null) await noted(id, before, running);
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
    changed(id: UpstreamId) {
      known[id].cancelTimer();
      known[id] = unknown(clock.now());
      if (isWatched) void checkInTurn(id);
    },
    /** Checks what would be checked if a window were open; resolves when all have answered. */
    async look() {
      if (isWatched || !isOn()) return;
      const due = UPSTREAM_IDS.filter((id) => !isAsked(id) && !isPool(id));
      const looks = due.flatMap((id) => {
        const running = checkHealth(id);
        return running === null ? [] : [noted(id, known[id], running)];
      });
      await Promise.all(looks);
    },
    /** Checks an upstream now instead of in its turn, even one that serves. */
    recheck(id: UpstreamId) {
      if (isWatched) void checkInTurn(id, true);
    },
    /** Checks whether an upstream or a machine is up; null if nothing can be checked. */
    check(id: string) {
      const running = checkHealth(id);
      if (running === null) return null;
      return noted(id, stateOf(id) ?? machineState(id), running).then(isUp);
    },
    /** A request was refused, and what excludes the upstream or machine now may end before its cause does. */
    excluded(id: string, reason: ExclusionReason) {
      if (reason !== 'credentials' && reason !== 'quota') return;
      (stateOf(id) ?? machineState(id)).setback = { at: clock.now(), reason, by: 'request' };
    },
    /** The engine of a machine, which had been down, answers again. */
    recovered(id: string) {
      note(id, machineState(id), { at: clock.now(), failure: null, isTest: true });
    },
    forget: (id: string) => void machines.delete(id),
    tested(id: string, { isCompletion, failure }: TestResult) {
      // What passes by itself excludes the upstream meanwhile, and is nothing to remember afterwards.
      if (failure === 'busy' || failure === 'rate_limited') return;
      const state = stateOf(id) ?? machineState(id);
      const at = clock.now();
      if (isCompletion && failure !== null) {
        state.setback = { at, reason: failure, by: 'check' };
        onChange();
        return;
      }
      if (isCompletion) state.setback = null;
      note(id, state, { at, failure, isTest: isCompletion });
    },
    view(): Record<UpstreamId, Sighting> {
      const members = pool();
      return mapUpstreams((id) => {
        if (id === 'local' && members !== null) return poolSighting(members, machines);
        return sightingOf(healthAt(id), known[id]);
      });
    },
  };
}

function unknown(since: number): CheckState {
  return { since, last: null, lastFailedAt: null, setback: null, cancelTimer() {} };
}

export interface TestResult extends Pick<TestOutcome, 'isCompletion'> {
  /** Why it failed; null if it did not. */
  readonly failure: string | null;
}

/** What is known about an upstream besides the results of its requests. */
type CheckFacts = Pick<CheckState, 'since' | 'last' | 'lastFailedAt' | 'setback'>;

/** The pool answers if one of its machines does. */
function poolSighting(
  members: Iterable<MachineFacts>,
  checked: ReadonlyMap<string, CheckState>,
): Sighting {
  let found: Sighting = { kind: 'answered', by: 'check' };
  for (const member of members) {
    found = machineSighting(member, checked.get(member.id));
    if (found.kind === 'answered') break;
  }
  return found;
}

function machineSighting({ health, proof }: MachineFacts, checked?: CheckState): Sighting {
  const failedAt = health.lastFailAt ?? 0;
  // A machine that routing may choose has passed a verification, whenever that was.
  const verified: CheckResult = { at: 0, failure: null, isTest: true };
  const seen = [verified, ...(proof === null ? [] : provedBy(proof))];
  const last = [...seen, ...(checked?.last ? [checked.last] : [])]
    .toSorted((a, b) => a.at - b.at || Number(a.isTest) - Number(b.isTest))
    // A passed check after a completion takes nothing away from it.
    .reduce((so, next) => {
      const isWeaker = so.isTest && so.failure === null && next.failure === null && !next.isTest;
      return isWeaker && so.at >= failedAt ? so : next;
    });
  const lastFailedAt = checked?.lastFailedAt ?? null;
  const setback = checked?.setback ?? null;
  return sightingOf(health, { since: 0, last, lastFailedAt, setback });
}

function provedBy({
  checkedAt,
  hasFailed,
  completedAt,
}: VerificationProof): readonly CheckResult[] {
  const completed = { at: completedAt ?? 0, failure: null, isTest: true };
  return [completed, { at: checkedAt, failure: hasFailed ? 'verification' : null, isTest: false }];
}

function sightingOf(health: HealthRecord, seen: CheckFacts): Sighting {
  const { since, last } = seen;
  const servedAt = after(since, health.lastSuccessAt);
  const failedAt = Math.max(
    after(since, health.lastFailAt),
    after(since, seen.setback?.at ?? null),
  );
  const failure = failureOf(health, seen);
  // What was seen before the last request is outdated.
  const check = last !== null && last.at >= Math.max(servedAt, failedAt) ? last : null;
  if (check?.failure) return { kind: 'failed', by: 'check', reason: check.failure };
  if (failure !== null) {
    return check !== null && showsRecovery(check, { failure, lastFailedAt: seen.lastFailedAt })
      ? { kind: 'answered', by: 'check' }
      : { kind: 'failed', by: failure.by, reason: failure.reason };
  }
  if (servedAt > 0) return { kind: 'answered', by: 'request' };
  return last === null ? { kind: 'untested' } : { kind: 'answered', by: 'check' };
}

export interface Setback {
  readonly at: number;
  readonly reason: string;
  readonly by: 'request' | 'check';
}

/** How the last request or test failed; null if it did not. */
function failureOf(health: HealthRecord, { since, setback }: CheckFacts): Setback | null {
  const { lastSuccessAt, lastFailAt, lastError, consecutiveFails } = health;
  const failedAt = after(since, lastFailAt);
  const isLast = setback !== null && setback.at > Math.max(since, lastSuccessAt ?? 0, failedAt);
  if (isLast) return setback;
  if (consecutiveFails === 0 || failedAt === 0) return null;
  return { at: failedAt, reason: lastError?.split(': ', 1)[0] ?? '', by: 'request' };
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
  { isTest }: CheckResult,
  { failure, lastFailedAt }: Pick<CheckFacts, 'lastFailedAt'> & { readonly failure: Setback },
): boolean {
  if (isTest || failure.reason === 'unreachable') return true;
  return lastFailedAt !== null && lastFailedAt >= failure.at;
}
