import { isObject } from '#shared/objects.ts';
import { type Breaker, NEW_BREAKER } from './breaker.ts';
import { decodeBreaker, decodeExclusions, encodeBreaker, encodeExclusions } from './codec.ts';
import type { DualTime } from '../../platform/clock.ts';
import { type Exclusions, NO_EXCLUSIONS } from './exclusions.ts';

/* All circuits as plain JSON. */

export interface KnownCircuit {
  readonly breaker: Breaker;
  readonly exclusions: Exclusions;
}

export function encodedCircuits(
  circuits: ReadonlyMap<string, KnownCircuit>,
  now: DualTime,
): unknown {
  return Object.fromEntries(
    [...circuits].map(([id, { breaker, exclusions }]) => [
      id,
      { breaker: encodeBreaker(breaker, now), skips: encodeExclusions(exclusions, now) },
    ]),
  );
}

export function decodedCircuits(
  saved: unknown,
  now: DualTime,
): [id: string, known: KnownCircuit][] {
  if (!isObject(saved)) return [];
  return Object.entries(saved).flatMap(([id, each]) => {
    if (!isObject(each)) return [];
    const breaker = decodeBreaker(each['breaker'], now) ?? NEW_BREAKER;
    const exclusions = decodeExclusions(each['skips'], now) ?? NO_EXCLUSIONS;
    return [[id, { breaker, exclusions }]];
  });
}
