import { expect, test } from 'vitest';
import { createOutcomes } from '../../../main/gateway/monitoring/counters.ts';
import { attempt, request } from '../../renderer/builders.ts';
import * as rows from '../../renderer/request-builders.ts';

const done = (id: string) =>
  request(id, { attempts: [attempt({ firstContentMs: 300, endMs: 900 })] });

test('each ended request counts once, and a failed one never counts as a fallback', () => {
  const outcomes = createOutcomes();
  for (const row of [done('a'), rows.hedgeWon(), rows.handedOver(), rows.sixteen()]) {
    outcomes.ended(row);
  }
  outcomes.ended(request('b', { state: 'cancelled' }));
  expect(outcomes.view().ended).toEqual({ 'first-choice': 1, 'fell-back': 2, failed: 1 });
});

test('an upstream counts one call for a request, and retries and polls apart', () => {
  const outcomes = createOutcomes();
  const attempts = [
    attempt({ upstream: 'ondemand', endMs: 10, reason: 'http_503' }),
    attempt({ upstream: 'ondemand', polls: 7, startMs: 20, firstContentMs: 300, endMs: 900 }),
  ];
  outcomes.ended(request('a', { attempts, upstream: 'ondemand' }));
  const tally = { asked: 1, answered: 1, retries: 1, polls: 7 };
  expect(outcomes.view().upstreams.ondemand).toEqual(tally);
});

test('counters are kept over a restart, and saved values that are no counts are ignored', () => {
  const before = createOutcomes();
  before.ended(done('a'));
  const after = createOutcomes();
  after.restore(before.save());
  expect(after.view()).toEqual(before.view());
  after.restore({ ended: { 'first-choice': -1 } });
  expect(after.view()).toEqual(before.view());
});
