import { expect, test } from 'vitest';
import { outcomeOf, type RequestRow } from '#shared/live.ts';
import type { UsageWrite } from '../../../main/gateway/usage/queries.ts';
import type { UsageOperations } from '../../../main/gateway/usage/tables.ts';
import type { DatabasePart } from '../../../main/platform/database/client.ts';
import { createUsageRecorder } from '../../../main/gateway/usage/recorder.ts';
import { createManualClock } from '../../support/clock.ts';
import { configOf } from '../../support/config.ts';
import { request } from '../../renderer/builders.ts';

test('all requests of a burst are counted, and its newest rows written: a thousand answered, a thousand others', () => {
  const clock = createManualClock();
  const writes: UsageWrite[] = [];
  const part: DatabasePart<UsageOperations> = {
    read: () => Promise.resolve(null),
    async write(_name, write) {
      writes.push(write);
      return { kind: 'written' };
    },
    problem: () => null,
  };
  const config = configOf({});
  const recorder = createUsageRecorder(part, {
    clock,
    config: () => config,
    budgets: { spent() {} },
    joulesPerToken: () => null,
    keyLimits: { requested() {}, used() {} },
  });
  const failed = Array.from({ length: 1500 }, (_, n) => request(`f${n}`, { state: 'failed' }));
  const done = Array.from({ length: 5000 }, (_, n) => request(`d${n}`, { state: 'done' }));
  for (const row of [...failed, ...done]) recorder.requestEnded(row, outcomeOf(row), clock.now());
  void recorder.close();
  const [write] = writes;
  expect(writes).toHaveLength(1);
  expect(write?.increments).toMatchObject([{ figures: { calls: 6500, failures: 1500 } }]);
  const rows = (write?.rows ?? []).map(({ json }) => JSON.parse(json) as RequestRow);
  expect(rows.length).toBeLessThan(2500);
  expect(rows.filter(({ state }) => state === 'failed')).toEqual(failed.slice(-1000));
  expect(rows.slice(-1000)).toEqual(done.slice(-1000));
});
