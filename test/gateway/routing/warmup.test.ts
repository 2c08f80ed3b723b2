import { expect, test } from 'vitest';
import {
  COLD,
  coldStartAt,
  seenStarting,
  used,
  type Warmup,
} from '../../../main/gateway/routing/warmup.ts';

/** A cold start that only requests see, polled every 5 s. */
function seenStart(warmup: Warmup, at: number, ms: number): Warmup {
  let now = warmup;
  for (let passed = 0; passed < ms; passed += 5000) now = seenStarting(now, at + passed);
  return used(now, at + ms);
}

test('a cold start shows how long it has lasted and, from the second one on, how long it usually takes', () => {
  const first = seenStarting(COLD, 1000);
  expect(coldStartAt(first, 41_000 - 30_000)).toEqual({ elapsedMs: 10_000, usualMs: null });
  const starts = [60_000, 90_000, 70_000];
  const after = starts.reduce((warmup, ms, n) => seenStart(warmup, n * 1e6, ms), COLD);
  expect(coldStartAt(after, 3e6)).toBeNull();
  const fourth = coldStartAt(seenStarting(after, 4e6), 4e6 + 2000);
  expect(fourth).toEqual({ elapsedMs: 2000, usualMs: 70_000 });
});
