import { expect, test } from 'vitest';
import { createDeadlines } from '../../../main/registry/verification/timer-queue.ts';

const takeAll = (deadlines: ReturnType<typeof createDeadlines>, nowTicks: number) => {
  const taken: string[] = [];
  for (let id = deadlines.takeDue(nowTicks); id !== null; id = deadlines.takeDue(nowTicks)) {
    taken.push(id);
  }
  return taken;
};

test('what is due comes in the order of its deadlines, and the rest stays', () => {
  const deadlines = createDeadlines();
  for (const [id, ticks] of [
    ['c', 30],
    ['a', 10],
    ['d', 40],
    ['b', 20],
  ] as const) {
    deadlines.set(id, ticks);
  }
  expect(takeAll(deadlines, 30)).toEqual(['a', 'b', 'c']);
  expect(deadlines.earliestTicks()).toBe(40);
});

test('those of one moment come in the order in which they were set', () => {
  const deadlines = createDeadlines();
  const ids = ['e', 'b', 'd', 'a', 'c', 'g', 'f'];
  for (const id of ids) deadlines.set(id, 5);
  expect(takeAll(deadlines, 5)).toEqual(ids);
});

test('a deadline takes the place of the last one, earlier or later; one that was deleted never comes', () => {
  const deadlines = createDeadlines();
  for (const [id, ticks] of Object.entries({ early: 50, late: 5, gone: 1 })) {
    deadlines.set(id, ticks);
  }
  deadlines.set('early', 10);
  deadlines.set('late', 20);
  deadlines.delete('gone');
  expect(takeAll(deadlines, 100)).toEqual(['early', 'late']);
  expect(deadlines.earliestTicks()).toBe(Infinity);
});

test('beside a sorted list it gives the same, over 5,000 random changes', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const deadlines = createDeadlines();
  const model = new Map<string, number>();
  for (let nowTicks = 0; nowTicks < 5000; nowTicks += 1) {
    const id = `${random(300)}`;
    const what = random(10);
    if (what === 0) {
      deadlines.delete(id);
      model.delete(id);
    } else {
      // No two at the same time, whose order is left open.
      const ticks = nowTicks + random(2000) + Number(id) / 1000;
      deadlines.set(id, ticks);
      model.set(id, ticks);
    }
    expect(deadlines.earliestTicks()).toBe(Math.min(Infinity, ...model.values()));
    if (what > 6) continue;
    const due = [...model].filter(([, ticks]) => ticks <= nowTicks).toSorted((a, b) => a[1] - b[1]);
    for (const [each] of due) model.delete(each);
    expect(takeAll(deadlines, nowTicks)).toEqual(due.map(([each]) => each));
  }
});
