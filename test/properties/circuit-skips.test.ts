import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeExclusions, encodeExclusions } from '../../main/gateway/circuits/saved-circuits.ts';
import { later, type DualTime, remainingMs } from '../../main/platform/clock.ts';
import {
  activeExclusions,
  MAX_EXCLUDED_MODELS,
  NO_EXCLUSIONS,
  type Exclusion,
  findExclusion,
  type Exclusions,
  EXCLUSION_REASONS,
  type RequestedExclusion,
  withExclusion,
} from '../../main/gateway/circuits/exclusions.ts';
import { check } from './circuit-histories.ts';

type Event =
  | { readonly kind: 'skip'; readonly wanted: RequestedExclusion; readonly model: string }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'wall_jump'; readonly ms: number };

/** More models than are kept. */
const model = fc.nat(MAX_EXCLUDED_MODELS + 20).map((n) => `m${n}`);
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('skip'),
      wanted: fc.record({
        reason: fc.constantFrom<Exclusion['reason'][]>(
          'model_not_found',
          'model_not_found',
          'model_not_found',
          ...EXCLUSION_REASONS,
        ),
        ms: fc.integer({ min: 1, max: 600_000 }),
      }),
      model,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.integer({ min: 0, max: 30_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wall_jump'),
      ms: fc.integer({ min: -100_000, max: 100_000 }),
    }),
  },
);

interface World {
  readonly skips: Exclusions;
  readonly now: DualTime;
}
interface Step {
  readonly before: World;
  readonly event: Event;
  readonly after: World;
}

const START: DualTime = { ticks: 100, wallMs: Date.UTC(2026, 0, 1) };
/** So many models that the bound is soon met. */
const MANY = Array.from({ length: MAX_EXCLUDED_MODELS - 3 }).reduce<Exclusions>(
  (skips, _, n) =>
    withExclusion(skips, { reason: 'model_not_found', ms: 1000 + n * 7000 }, `m${n}`, START),
  NO_EXCLUSIONS,
);

function play(events: readonly Event[]): readonly Step[] {
  let world: World = { skips: events.length % 2 === 0 ? NO_EXCLUSIONS : MANY, now: START };
  return events.map((each) => {
    const before = world;
    world = worldAfter(world, each);
    return { before, event: each, after: world };
  });
}

function worldAfter({ skips, now }: World, each: Event): World {
  switch (each.kind) {
    case 'skip':
      return { skips: withExclusion(skips, each.wanted, each.model, now), now };
    case 'pass':
      return { skips, now: later(now, each.ms) };
    case 'wall_jump':
      return { skips, now: { ...now, wallMs: now.wallMs + each.ms } };
  }
}

const keyOf = (skip: Exclusion): string =>
  skip.reason === 'model_not_found' ? `model ${skip.model}` : skip.reason;
const modelsOf = (skips: Exclusions): Exclusions =>
  skips.filter(({ reason }) => reason === 'model_not_found');
/** How long each holds yet. */
const leftMs = ({ skips, now }: World): ReadonlyMap<string, number> =>
  new Map(skips.map((skip) => [keyOf(skip), remainingMs(skip.until, now)]));

const PROPERTIES: Readonly<Record<string, (step: Step) => boolean>> = {
  'there is one exclusion per reason and model': ({ after: { skips } }) =>
    new Set(skips.map(keyOf)).size === skips.length,

  'the number of exclusions is bounded': ({ after: { skips } }) =>
    modelsOf(skips).length <= MAX_EXCLUDED_MODELS &&
    skips.length <= MAX_EXCLUDED_MODELS + EXCLUSION_REASONS.length,

  'an exclusion never moves another one, and its own deadline never earlier': ({
    before,
    event: e,
    after,
  }) => {
    if (e.kind !== 'skip') return true;
    const added = e.wanted.reason === 'model_not_found' ? `model ${e.model}` : e.wanted.reason;
    const was = leftMs(before);
    return [...leftMs(after)].every(([key, ms]) => {
      const wasMs = was.get(key) ?? 0;
      return ms === (key === added ? Math.max(wasMs, e.wanted.ms) : wasMs);
    });
  },

  'only the exclusion that ends soonest is dropped before its end': ({
    before,
    event: e,
    after,
  }) => {
    if (e.kind !== 'skip') return true;
    const kept = new Set(after.skips.map(keyOf));
    const dropped = activeExclusions(before.skips, before.now).filter(
      (skip) => !kept.has(keyOf(skip)),
    );
    const soonestMs = Math.min(
      ...modelsOf(after.skips).map(({ until }) => remainingMs(until, after.now)),
    );
    return (
      dropped.length <= 1 &&
      dropped.every(
        ({ reason, until }) =>
          reason === 'model_not_found' && remainingMs(until, before.now) <= soonestMs,
      )
    );
  },

  'a request is refused exactly while an exclusion for it or for the whole upstream holds': ({
    after: { skips, now },
  }) =>
    ['m0', 'm1', 'other'].every((name) => {
      const holds = activeExclusions(skips, now).some(
        (skip) => skip.reason !== 'model_not_found' || skip.model === name,
      );
      return (findExclusion(skips, name, now) !== null) === holds;
    }),

  'busy is the reason only where no firmer exclusion holds': ({ after: { skips, now } }) => {
    const given = findExclusion(skips, 'other', now);
    const held = activeExclusions(skips, now);
    const isAlone = held.every((s) => s.reason === 'busy' || s.reason === 'model_not_found');
    return given?.reason !== 'busy' || isAlone;
  },

  'exclusions outlive a restart': ({ after: { skips, now } }) => {
    const active = activeExclusions(skips, now);
    const saved: unknown = JSON.parse(JSON.stringify(encodeExclusions(active, now)));
    const elsewhere = { ticks: 7, wallMs: now.wallMs };
    const copy = decodeExclusions(saved, elsewhere);
    if (copy === null || copy.length !== active.length) return false;
    const left = leftMs({ skips: copy, now: elsewhere });
    return active.every((skip) => left.get(keyOf(skip)) === remainingMs(skip.until, now));
  },
};

test.each(Object.entries(PROPERTIES))('%s, after any exclusions', (_, holds) => {
  const events = fc.array(event, { maxLength: 20, size: 'max' });
  const property = fc.property(events, (past) => {
    const steps = play(past);
    for (const step of steps) check(holds(step), step);
  });
  expect(() => fc.assert(property, { numRuns: 5000 })).not.toThrow();
});
