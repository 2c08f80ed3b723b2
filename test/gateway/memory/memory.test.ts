import { expect, test } from 'vitest';
import { NEW_BREAKER } from '../../../main/gateway/circuits/breaker.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { type Topic, TOPICS, type Values } from '../../../main/gateway/memory/topics.ts';
import { createManualClock } from '../../support/clock.ts';

const ID = 'hosted_a';

/** A value of each topic. */
const SAMPLES: { readonly [T in Topic]: Values[T] } = {
  lacks: true,
  refuses: { model: 'm', change: 'without store' },
  tells: true,
  rate: { tokens: 1000, ms: 500 },
  left_alone: { reason: 'quota', model: null },
  circuit: { breaker: NEW_BREAKER, epoch: 0 },
  models: { list: [], askAgainAt: 0 },
  seen: { since: 0, last: null, lastFailedAt: null, setback: null },
  latency: { mean: { value: 900, weight: 1, atMs: 0 }, samples: 1 },
  prefixes: { model: 'm', readAt: 0 },
  turns: { model: 'm', keys: [1], tools: 0, input: 9000, isUnloaded: false, readAt: 0 },
  tells_reuse: true,
  too_long: true,
  text_rate: { samples: 5, mean: 1, variance: 0 },
  longest: { tokens: 9000 },
  cut: { tokens: 4096, promptBytes: 70_000 },
  window: { tokens: 4096, declared: null },
};
const ALL = Object.keys(SAMPLES) as Topic[];

function filled() {
  const clock = createManualClock();
  const memory = createMemory(clock);
  const known = memory.of(ID);
  for (const topic of ALL) known.set(topic, 'm', SAMPLES[topic]);
  const held = () => ALL.filter((topic) => memory.of(ID).get(topic, 'm') !== null);
  return { clock, memory, known, held };
}

test.each(ALL)('each entry of %s ends at its time, and not before', (topic) => {
  const { clock, known } = filled();
  const { ms } = TOPICS[topic];
  clock.advance(Math.min(ms, Number.MAX_SAFE_INTEGER) - 1);
  expect(known.get(topic, 'm')).toEqual(SAMPLES[topic]);
  clock.advance(1);
  expect(known.get(topic, 'm') === null).toBe(ms !== Infinity);
});

test.each(ALL)('callers cannot make %s grow: what was written longest ago is dropped', (topic) => {
  const { known } = filled();
  const { max } = TOPICS[topic];
  for (let n = 1; n <= max; n += 1) known.set(topic, `m${n}`, SAMPLES[topic]);
  expect(known.entries(topic)).toHaveLength(max);
  expect(known.get(topic, 'm')).toBeNull();
});

test('what an upstream takes is forgotten with its address, what was counted when it is removed, and others keep theirs', () => {
  const { memory, held } = filled();
  memory.of('hosted_b').set('lacks', 'm', true);
  memory.forget(ID);
  expect(held()).toEqual(['circuit', 'latency']);
  memory.drop(ID);
  expect(held()).toEqual([]);
  expect(memory.of('hosted_b').get('lacks', 'm')).toBe(true);
});

test('an entry ends while the computer sleeps, and a clock set back does not lengthen it', () => {
  const time = { ticks: 10, wallMs: Date.UTC(2026, 0, 1) };
  const clock = { ...createManualClock(), ticks: () => time.ticks, now: () => time.wallMs };
  const known = createMemory(clock).of(ID);
  const { ms } = TOPICS.left_alone;
  known.set('left_alone', 'quota', SAMPLES.left_alone);
  time.wallMs += ms;
  expect(known.get('left_alone', 'quota')).toBeNull();
  known.set('left_alone', 'quota', SAMPLES.left_alone);
  time.ticks += ms;
  time.wallMs -= 3_600_000;
  expect(known.get('left_alone', 'quota')).toBeNull();
});

test('an emptied engine has lost the prompts of the models that are no longer loaded, and nothing else', () => {
  const { memory, held } = filled();
  memory.emptied(ID, (model) => model === 'm');
  expect(held()).toEqual(ALL);
  memory.emptied(ID, () => false);
  expect(held()).toEqual(ALL.filter((topic) => topic !== 'prefixes'));
  expect(memory.of(ID).entries('turns')[0]?.value.isUnloaded).toBe(true);
});

test('a call to the former address teaches nothing of the new one', () => {
  const { memory, known, held } = filled();
  memory.forget(ID);
  known.set('lacks', 'm', true);
  expect(held()).not.toContain('lacks');
});
