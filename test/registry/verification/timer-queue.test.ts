import { expect, test } from 'vitest';
import { createTimerQueue } from '../../../main/registry/verification/verifier.ts';
import { createManualClock } from '../../support/clock.ts';

function queueAt(deadlines: Readonly<Record<string, number | 'first'>>) {
  const clock = createManualClock();
  const queue = createTimerQueue(clock, () => {});
  for (const [id, ticks] of Object.entries(deadlines)) queue.set(id, ticks);
  queue.open();
  const due = (ms: number) => {
    clock.advance(ms);
    const ids: string[] = [];
    for (let id = queue.next(); id !== null; id = queue.next()) ids.push(id);
    return ids;
  };
  return { clock, queue, due };
}

test('deadlines come in their order, and those of one moment as they were set', () => {
  const { due } = queueAt({ c: 30, a: 10, e: 40, b: 20, d: 30 });
  expect(due(30)).toEqual(['a', 'b', 'c', 'd']);
  expect(due(9)).toEqual([]);
  expect(due(1)).toEqual(['e']);
});

test('a deadline replaces the last one of its provider, and a removed one never comes', () => {
  const { queue, due } = queueAt({ early: 50, late: 5, gone: 1 });
  queue.set('early', 10);
  queue.set('late', 20);
  queue.remove('gone');
  expect(due(100)).toEqual(['early', 'late']);
});

test('a provider that is due keeps its place, and one that goes first is ahead of it', () => {
  const { clock, queue, due } = queueAt({ a: 10, b: 20 });
  clock.advance(20);
  queue.set('a', 20);
  queue.set('c', 'first');
  expect(due(0)).toEqual(['c', 'a', 'b']);
});

test('a closed queue has no timers and gives nothing', () => {
  const { clock, queue, due } = queueAt({ a: 10, b: 'first' });
  queue.close();
  expect(clock.pending()).toBe(0);
  expect(due(100)).toEqual([]);
});
