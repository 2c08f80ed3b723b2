import type { Clock } from '../../platform/clock.ts';
import type { HealthCheckResult } from './health-check-routes.ts';

/** A call to an engine, from its sending to its end. */
export interface EngineCall {
  /**
   * When the engine is to be taken for hung, in clock ticks. Later while other calls show that it works: then
   * this one waits for its turn.
   */
  readonly hungAt: () => number;
  content(): void;
  ended(): void;
}

/** Hung as soon as one of the two says so. */
export function bothOf(first: EngineCall | null, second: EngineCall | null): EngineCall | null {
  if (first === null || second === null) return first ?? second;
  return {
    hungAt: () => Math.min(first.hungAt(), second.hungAt()),
    content() {
      first.content();
      second.content();
    },
    ended() {
      first.ended();
      second.ended();
    },
  };
}

/** What the running calls to each engine show together: one that answers any of them has not hung. */
export type EngineActivity = ReturnType<typeof createEngineActivity>;

interface Engine {
  /** Limits of the calls without content. */
  readonly silent: Set<{ readonly limitMs: number }>;
  /** Calls with content that have not ended. */
  answering: number;
  /** When any call last received data, in clock ticks. */
  aliveAt: number;
}

export function createEngineActivity(clock: Clock) {
  const engines = new Map<string, Engine>();

  /** `limitMs`: the silence after which this call, were it the only one, would mean that the engine has hung. */
  function sent(id: string, limitMs: number): EngineCall {
    const engine = engines.get(id) ?? { silent: new Set(), answering: 0, aliveAt: clock.ticks() };
    engines.set(id, engine);
    const sentAt = clock.ticks();
    const own = { limitMs };
    let state: 'silent' | 'answering' | 'ended' = 'silent';
    engine.silent.add(own);
    const leave = (next: typeof state) => {
      if (state === 'silent') engine.silent.delete(own);
      else engine.answering -= 1;
      state = next;
    };
    return {
      hungAt: () =>
        engine.answering > 0
          ? clock.ticks() + limitMs
          : Math.max(sentAt, engine.aliveAt) + longest(engine.silent),
      content() {
        if (state !== 'silent') return;
        leave('answering');
        engine.answering += 1;
        engine.aliveAt = clock.ticks();
      },
      ended() {
        if (state === 'ended') return;
        if (state === 'answering') engine.aliveAt = clock.ticks();
        leave('ended');
        if (engine.silent.size + engine.answering === 0) engines.delete(id);
      },
    };
  }

  return { sent };
}

/** A short prompt may wait behind one that takes long to read. */
function longest(silent: Engine['silent']): number {
  let longestMs = 0;
  for (const { limitMs } of silent) longestMs = Math.max(longestMs, limitMs);
  return longestMs;
}

/**
 * Checks the fixed engine while all of its calls are silent: a busy one answers the check, a stopped one does
 * not.
 */
export type WedgeWatch = ReturnType<typeof createWedgeWatch>;

export interface WedgeWatchDeps {
  readonly clock: Clock;
  readonly isOn: () => boolean;
  /** A request that costs nothing; null if there is none to send. */
  readonly check: () => Promise<HealthCheckResult> | null;
}

/**
 * Engines that answer such a request while they compute, by `owned_by`, and beside how many silent calls at most. Others
 * answer nothing while they compute. Older builds of llama.cpp have two threads for HTTP more than slots, and a call keeps one.
 */
const ANSWERS_BESIDE: ReadonlyMap<string, number> = new Map([
  ['llamacpp', 2],
  ['vllm', Infinity],
  // Ollama
  ['library', Infinity],
]);

/** One unanswered check may be a machine that is swapping. */
const CHECKS_FAILED = 2;
/** From an answered check to the next one, and from a failed one. */
const PAUSE_MS = 5000;
const AGAIN_MS = 1000;

interface SilentCall {
  readonly checkAt: number;
  readonly most: number;
}

export function createWedgeWatch({ clock, isOn, check }: WedgeWatchDeps) {
  const silent = new Set<SilentCall>();
  /** Calls with content that have not ended; what comes of them is not watched. */
  let answering = 0;
  /** Checks in a row that were not answered, and when the last one began. */
  let failed = 0;
  let failedAt = -Infinity;
  /** It has answered a check beside this many silent calls. */
  let proved = 0;
  /** Counts signs of life. */
  let heard = 0;
  let cancelTimer: (() => void) | null = null;
  let isChecking = false;

  const isTelling = () => {
    const [first] = silent;
    return answering === 0 && silent.size <= Math.max(first?.most ?? 0, proved);
  };

  /** The next check; none without a silent call. */
  function arm(pauseMs: number): void {
    if (isChecking || cancelTimer !== null || silent.size === 0) return;
    const dueMs = Math.min(...[...silent].map(({ checkAt }) => checkAt)) - clock.ticks();
    cancelTimer = clock.after(Math.max(pauseMs, dueMs), () => void checkOnce());
  }

  function disarm(): void {
    if (silent.size > 0) return;
    cancelTimer?.();
    cancelTimer = null;
  }

  async function checkOnce(): Promise<void> {
    cancelTimer = null;
    isChecking = true;
    const startedAt = clock.ticks();
    const before = heard;
    const seen = answering === 0 && isOn() ? await check() : null;
    isChecking = false;
    if (seen?.kind === 'answered') proved = Math.max(proved, silent.size);
    const isUnanswered = seen?.kind === 'failed' && seen.reason === 'timeout';
    const hasFailed = isUnanswered && heard === before && isTelling();
    if (hasFailed) failedAt = startedAt;
    failed = hasFailed ? failed + 1 : 0;
    arm(hasFailed ? AGAIN_MS : PAUSE_MS);
  }

  /** `checkAfterMs`: silence of this call before the engine is checked. Null if checks would prove nothing. */
  function sent(ownedBy: string | null, checkAfterMs: number): EngineCall | null {
    const most = ANSWERS_BESIDE.get(ownedBy ?? '');
    if (most === undefined) return null;
    const sentAt = clock.ticks();
    const own = { checkAt: sentAt + checkAfterMs, most };
    let state: 'silent' | 'answering' | 'ended' = 'silent';
    silent.add(own);
    arm(0);
    return {
      hungAt() {
        // A check that began before this call says nothing about it.
        if (failed >= CHECKS_FAILED && failedAt >= sentAt) return sentAt;
        return Math.max(own.checkAt, clock.ticks() + AGAIN_MS);
      },
      content() {
        if (state !== 'silent') return;
        state = 'answering';
        silent.delete(own);
        disarm();
        answering += 1;
        heard += 1;
        failed = 0;
      },
      ended() {
        silent.delete(own);
        disarm();
        if (state === 'answering') answering -= 1;
        state = 'ended';
      },
    };
  }

  return { sent };
}
