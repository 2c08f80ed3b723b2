import { expect, test } from 'vitest';
import { withTimeout } from '../../main/platform/async.ts';
import { createManualClock } from '../support/clock.ts';

const never = () => new Promise<never>(() => {});

test('a wait with limits gives the value of a promise that settles in time, and leaves no timer', async () => {
  const clock = createManualClock();
  const { promise, resolve } = Promise.withResolvers<number>();
  const waiting = withTimeout(promise, { clock, ms: 100 });
  clock.advance(99);
  resolve(7);
  expect(await waiting).toEqual({ kind: 'settled', value: 7 });
  expect(clock.pending()).toBe(0);
});

test('a wait with limits tells a timeout from an abort by its kind', async () => {
  const clock = createManualClock();
  const late = withTimeout(never(), { clock, ms: 100, signal: new AbortController().signal });
  clock.advance(100);
  expect(await late).toEqual({ kind: 'timed_out' });
  const stopping = new AbortController();
  const stopped = withTimeout(never(), { clock, ms: 100, signal: stopping.signal });
  stopping.abort();
  expect(await stopped).toEqual({ kind: 'aborted' });
});
