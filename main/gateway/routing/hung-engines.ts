import type { Clock } from '../../platform/clock.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { CheckHealth } from './health-check-routes.ts';

export type HungEngines = ReturnType<typeof createHungEngines>;

interface HungEnginesDeps {
  readonly clock: Clock;
  readonly isOn: () => boolean;
  /** Silence of a call after which its engine is checked. */
  readonly checkAfterMs: () => number;
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

/** One unanswered check may be a machine that is swapping. */
const CHECKS_FAILED = 2;
/** From an answered check to the next one, and from a failed one. */
const [PAUSE_MS, AGAIN_MS] = [5000, 1000];

/** Tells an engine that has hung from one that is slow: only the latter answers its health check. */
export function createHungEngines(deps: HungEnginesDeps) {
  const { clock, isOn, checkAfterMs, check, inFlightAt } = deps;
  /** Calls `onHung` if the engine turns out to have hung. The result ends that, when the call is no longer silent. */
  function watch(id: string, call: UpstreamCall, onHung: () => void): () => void {
    // An agent answers whatever its engine does.
    const most = call.provider === null ? (ANSWERS_WITH.get(call.prefill.ownedBy) ?? 0) : Infinity;
    if (most === 0 || call.upstream !== 'local') return () => {};
    let failed = 0;
    let isOver = false;
    let cancelTimer = clock.after(checkAfterMs(), () => void checkOnce());

    async function checkOnce(): Promise<void> {
      const result = isOn() && inFlightAt(id) <= most ? await check(id) : null;
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
  }

  return { watch };
}
