import { expect, test } from 'vitest';
import { createKeyRefusals } from '../../../main/gateway/monitoring/key-refusals.ts';
import { createManualClock } from '../../support/clock.ts';

test('refusals count for an hour, with the time and the address of the last', () => {
  const clock = createManualClock();
  const { refused, view } = createKeyRefusals(clock, () => undefined);
  expect(view()).toBeNull();
  refused('192.168.1.8');
  clock.advance(3_000_000);
  refused('192.168.1.9');
  const lastAt = clock.now();
  expect(view()).toEqual({ count: 2, lastAt, lastAddress: '192.168.1.9' });
  clock.advance(3_000_000);
  expect(view()).toEqual({ count: 1, lastAt, lastAddress: '192.168.1.9' });
  clock.advance(3_000_000);
  expect(view()).toBeNull();
});
