import type { Clock } from '../../platform/clock.ts';
import type { EngineCall } from './engine-activity.ts';
import type { Look } from './health-check-routes.ts';

/**
 * Looks at the fixed engine while all of its calls are silent: a slow one answers that beside its work, a stopped one
 * does not.
 */
export interface WedgeWatch {
  /** `lookAfterMs`: silence of this call before the engine is looked at. Null where looks would prove nothing. */
  sent(ownedBy: string | null, lookAfterMs: number): EngineCall | null;
}

export interface WedgeWatchDeps {
  readonly clock: Clock;
  readonly isOn: () => boolean;
  /** A request that costs nothing; null where there is none to send. */
  readonly look: () => Promise<Look> | null;
}

/**
 * Engines that answer such a request beside their work, by `owned_by`, and beside how many silent calls. Others fall
 * silent while they compute. Older builds of llama.cpp have two threads for HTTP more than slots, and a call keeps one.
 */
const ANSWERS_BESIDE: ReadonlyMap<string, number> = new Map([
  ['llamacpp', 2],
  ['vllm', Infinity],
  // Ollama
  ['library', Infinity],
]);

/** One unanswered look may be a machine that is swapping. */
const LOOKS_FAILED = 2;
/** From an answered look to the next one, and from a failed one. */
const PAUSE_MS = 5000;
const AGAIN_MS = 1000;

interface SilentCall {
  readonly lookAt: number;
  readonly most: number;
}

export function createWedgeWatch({ clock, isOn, look }: WedgeWatchDeps): WedgeWatch {
  const silent = new Set<SilentCall>();
  /** Calls with content that have not ended; what comes of them is not watched. */
  let answering = 0;
  /** Looks in a row that were not answered, and when the last one began. */
  let failed = 0;
  let failedAt = -Infinity;
  /** Beside so many silent calls it has answered a look. */
  let proved = 0;
  /** Counts signs of life. */
  let heard = 0;
  let cancelTimer: (() => void) | null = null;
  let isLooking = false;

  /** Whether a look that is not answered means anything. */
  const isTelling = () => {
    const [first] = silent;
    return answering === 0 && silent.size <= Math.max(first?.most ?? 0, proved);
  };

  /** The next look; none without a silent call. */
  function arm(pauseMs: number): void {
    if (isLooking || cancelTimer !== null || silent.size === 0) return;
    const dueMs = Math.min(...[...silent].map(({ lookAt }) => lookAt)) - clock.ticks();
    cancelTimer = clock.after(Math.max(pauseMs, dueMs), () => void lookOnce());
  }

  function disarm(): void {
    if (silent.size > 0) return;
    cancelTimer?.();
    cancelTimer = null;
  }

  async function lookOnce(): Promise<void> {
    cancelTimer = null;
    isLooking = true;
    const startedAt = clock.ticks();
    const before = heard;
    const seen = answering === 0 && isOn() ? await look() : null;
    isLooking = false;
    if (seen?.kind === 'answered') proved = Math.max(proved, silent.size);
    const isUnanswered = seen?.kind === 'failed' && seen.reason === 'timeout';
    const hasFailed = isUnanswered && heard === before && isTelling();
    if (hasFailed) failedAt = startedAt;
    failed = hasFailed ? failed + 1 : 0;
    arm(hasFailed ? AGAIN_MS : PAUSE_MS);
  }

  function sent(ownedBy: string | null, lookAfterMs: number): EngineCall | null {
    const most = ANSWERS_BESIDE.get(ownedBy ?? '');
    if (most === undefined) return null;
    const sentAt = clock.ticks();
    const own = { lookAt: sentAt + lookAfterMs, most };
    let state: 'silent' | 'answering' | 'ended' = 'silent';
    silent.add(own);
    arm(0);
    return {
      hungAt() {
        // A look from before this call says nothing of it. What is past is past by any later reading of the clock.
        if (failed >= LOOKS_FAILED && failedAt >= sentAt) return sentAt;
        return Math.max(own.lookAt, clock.ticks() + AGAIN_MS);
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
