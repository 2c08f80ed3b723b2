import type { Out } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Failed, Left, Outrun } from '../outcome/trail.ts';
import type { LocalTarget } from '../request/upstreams.ts';
import { NEUTRAL, resultOf } from '../watch/attempt-log.ts';

/** Why a machine is out; null where it is not. */
export type OutOf = (target: LocalTarget) => Out | null;

/** What the circuits and counters know a machine by; a fixed engine is the upstream itself. */
export function idOf({ provider }: LocalTarget): string {
  return provider ?? 'local';
}

/** How long each machine was silent is its own affair. */
const NO_TIME = { ms: 0, silentMs: 0 };

/** The tier has failed when nobody of it is well: three were asked, a fourth or one that is busy may be. */
export function tierResult(
  left: readonly (Failed | Outrun)[],
  targets: readonly LocalTarget[],
  outOf: OutOf,
): Result {
  const failed = left.filter((each) => each.kind === 'failed');
  const asked = new Set(left.map(({ provider }) => provider));
  const unwell = failed.filter(({ failure }) => failure.mark === 'failure');
  const marked = new Set(unwell.map(({ provider }) => provider));
  const isWell = (target: LocalTarget) => {
    if (asked.has(target.provider)) return !marked.has(target.provider);
    const reason = outOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  };
  const last = failed.at(-1);
  return last === undefined || targets.some(isWell) ? NEUTRAL : resultOf(last.failure, NO_TIME);
}

/** Why the tier is out when all of its machines are: for the one that comes back first. */
export function outOfAll(targets: readonly LocalTarget[], outOf: OutOf): Left {
  const outs = targets.map(outOf).filter((out) => out !== null);
  const [first] = outs.toSorted(
    (a, b) => Number(mayBeAsked(b)) - Number(mayBeAsked(a)) || a.waitMs - b.waitMs,
  );
  return first === undefined
    ? { kind: 'skipped', upstream: 'local', reason: 'no_provider', waitMs: null, backAtTicks: null }
    : skipped(first);
}

/** What a person or a bill keeps out is never overridden. */
export function mayBeAsked({ reason }: Out): boolean {
  return reason === 'circuit_open' || reason === 'busy';
}

/** The tier as one that was not asked. */
export function skipped({ reason, waitMs, backAtTicks }: Out): Left {
  return { kind: 'skipped', upstream: 'local', reason, waitMs, backAtTicks };
}
