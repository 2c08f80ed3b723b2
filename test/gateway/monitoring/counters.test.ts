import { expect, test } from 'vitest';
import { createOutcomes } from '../../../main/gateway/monitoring/counters.ts';
import { attempt, request } from '../../renderer/builders.ts';

const done = (id: string) =>
  request(id, { attempts: [attempt({ firstContentMs: 300, endMs: 900 })] });

test('counters are kept over a restart, and saved values that are no counts are ignored', () => {
  const before = createOutcomes();
  before.ended(done('a'), 'first-choice');
  const after = createOutcomes();
  after.restore(before.save());
  expect(after.view()).toEqual(before.view());
  after.restore({ ended: { 'first-choice': -1 } });
  expect(after.view()).toEqual(before.view());
});
