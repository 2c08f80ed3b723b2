import { expect, test } from 'vitest';
import { createPreference } from '../../../main/gateway/routing/preference.ts';
import { createManualClock } from '../../support/clock.ts';

const HOUR_MS = 3_600_000;

function preferring() {
  const clock = createManualClock();
  let wallOffsetMs = 0;
  let changes = 0;
  const preference = createPreference(
    { ...clock, now: () => clock.now() + wallOffsetMs },
    () => (changes += 1),
  );
  return {
    clock,
    preference,
    changes: () => changes,
    setWallClock: (offsetMs: number) => (wallOffsetMs = offsetMs),
  };
}

test('a preference is over after a sleep of the machine, in which only the wall clock goes on', () => {
  const { preference, setWallClock } = preferring();
  preference.begin('hosted_a');
  setWallClock(HOUR_MS);
  expect([preference.id(), preference.view()]).toEqual([null, null]);
});

test('a wall clock that is set back makes a preference no longer', () => {
  const { clock, preference, setWallClock } = preferring();
  preference.begin('hosted_a');
  setWallClock(-5 * HOUR_MS);
  expect(preference.view()?.untilMs).toBe(clock.now() - 5 * HOUR_MS + HOUR_MS);
  clock.advance(HOUR_MS);
  expect([preference.id(), clock.pending()]).toEqual([null, 0]);
});
