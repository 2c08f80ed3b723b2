import type { PoolAnswer, SharedCircuit, SharedSkip } from '#shared/pool-update.ts';
import { type Breaker, reset } from './breaker.ts';
import { type DualTime, later, remainingMs } from '../../platform/clock.ts';
import {
  activeExclusions,
  type Exclusion,
  EXCLUSION_REASONS,
  type Exclusions,
  MAX_EXCLUSION_MS,
  NO_EXCLUSIONS,
  withExclusion,
} from './exclusions.ts';
import type { KnownCircuit } from './saved-circuits.ts';

/* A circuit as the gateways of a pool know it, and how what two of them have learnt is put together. */

type ReceivedCircuit = PoolAnswer['circuits'][number];

/** What has changed in a circuit here and has not been sent yet; `other`: its cool-down or its exclusions. */
export type CircuitChange = 'reset' | 'closed' | 'opened' | 'other';

/** Null: nothing that others need to know. A probe concerns only the gateway that claimed it. */
export function learntBetween(before: KnownCircuit, after: KnownCircuit): CircuitChange | null {
  const was = before.breaker.state;
  const is = after.breaker.state;
  if (was !== is) {
    if (was.kind !== 'closed' && is.kind === 'closed') return 'closed';
    if (was.kind === 'closed' && is.kind !== 'closed') return 'opened';
    const isLater = was.kind !== 'closed' && is.kind === 'open' && is.until !== was.until;
    if (isLater) return 'other';
  }
  return before.exclusions === after.exclusions ? null : 'other';
}

/** The later of two changes replaces the earlier, except that a reset is kept, and `other` replaces nothing. */
export function learntAfter(known: CircuitChange | undefined, next: CircuitChange): CircuitChange {
  return known !== undefined && (known === 'reset' || next === 'other') ? known : next;
}

export function sharedOf(
  { breaker: { state, health }, exclusions }: KnownCircuit,
  now: DualTime,
): Pick<SharedCircuit, 'cooldown' | 'skips'> {
  return {
    cooldown:
      state.kind === 'closed'
        ? null
        : {
            leftMs: remainingMs(state.until, now),
            openings: state.consecutiveOpens,
            error: health.lastError,
          },
    skips: activeExclusions(exclusions, now).map(({ until, ...each }) => ({
      ...each,
      leftMs: remainingMs(until, now),
    })),
  };
}

/** The circuit as another gateway knows it, in place of what was known here. */
export function taken(
  mine: KnownCircuit,
  received: Pick<ReceivedCircuit, 'cooldown' | 'skips'>,
  now: DualTime,
): KnownCircuit {
  const exclusions = received.skips.flatMap((skip) => exclusionOf(skip, now));
  return {
    breaker: breakerFrom(mine.breaker, received.cooldown, now),
    exclusions: exclusions.length === 0 ? NO_EXCLUSIONS : exclusions,
  };
}

/** The same where this gateway has learnt something meanwhile that the other did not know. */
export function takenBeside(
  mine: KnownCircuit,
  learnt: Exclude<CircuitChange, 'reset'>,
  received: ReceivedCircuit,
  now: DualTime,
): KnownCircuit {
  const theirs = taken(mine, received, now);
  let { exclusions } = mine;
  for (const skip of received.skips)
    for (const { reason, ...each } of exclusionOf(skip, now)) {
      const model = 'model' in each ? each.model : '';
      exclusions = withExclusion(exclusions, { reason, ms: skip.leftMs }, model, now);
    }
  return { breaker: laterBreaker(mine.breaker, theirs.breaker, learnt, now), exclusions };
}

function laterBreaker(
  mine: Breaker,
  theirs: Breaker,
  learnt: Exclude<CircuitChange, 'reset'>,
  now: DualTime,
): Breaker {
  // A probe that succeeded, or a circuit that has just opened, is newer than whatever the other knew.
  if (learnt === 'closed') return mine;
  if (theirs.state.kind !== 'open' || mine.state.kind !== 'open')
    return learnt === 'opened' ? mine : theirs;
  const isLonger = remainingMs(mine.state.until, now) >= remainingMs(theirs.state.until, now);
  return isLonger ? mine : theirs;
}

function breakerFrom(mine: Breaker, received: SharedCircuit['cooldown'], now: DualTime): Breaker {
  const { state, health } = mine;
  if (received === null) return state.kind === 'closed' ? mine : reset(mine);
  // A running probe finds out more than the other knew.
  if (state.kind === 'probing') return mine;
  const until = later(now, received.leftMs);
  const open = { kind: 'open', until, consecutiveOpens: received.openings } as const;
  if (state.kind === 'open') return { ...mine, state: open };
  const failure = { lastError: received.error ?? health.lastError, lastFailAt: now.wallMs };
  return { ...mine, health: { ...health, ...failure }, state: open };
}

function exclusionOf({ reason, model, leftMs }: SharedSkip, now: DualTime): Exclusions {
  const until = later(now, Math.min(leftMs, MAX_EXCLUSION_MS));
  if (leftMs === 0) return [];
  if (reason === 'model_not_found') return [{ reason, model: model ?? '', until }];
  const known = EXCLUSION_REASONS.find((each) => each === reason);
  return known === undefined ? [] : [{ reason: known, until } satisfies Exclusion];
}
