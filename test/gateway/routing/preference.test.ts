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

test('a preference lasts an hour, and its end is announced', () => {
  const { clock, preference, changes } = preferring();
  expect([preference.id(), preference.view()]).toEqual([null, null]);
  preference.begin('hosted_b');
  expect(preference.view()).toEqual({ id: 'hosted_b', untilMs: clock.now() + HOUR_MS });
  clock.advance(HOUR_MS - 1);
  expect([preference.id(), changes()]).toEqual(['hosted_b', 1]);
  clock.advance(1);
  expect([preference.id(), preference.view(), changes(), clock.pending()]).toEqual([
    null,
    null,
    2,
    0,
  ]);
});

test('a preference that is said again lasts an hour from then, in place of the other', () => {
  const { clock, preference } = preferring();
  preference.begin('hosted_b');
  clock.advance(HOUR_MS / 2);
  preference.begin('hosted_c');
  clock.advance(HOUR_MS - 1);
  expect([preference.id(), clock.pending()]).toEqual(['hosted_c', 1]);
  preference.end();
  expect([preference.id(), clock.pending()]).toEqual([null, 0]);
});

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

test('a preference stays with its service where two upstreams change places, for what is left of its hour', () => {
  const { clock, preference } = preferring();
  preference.swapped('hosted_a', 'hosted_b');
  expect(preference.id()).toBeNull();
  preference.begin('hosted_a');
  clock.advance(HOUR_MS / 2);
  preference.swapped('hosted_b', 'hosted_a');
  expect(preference.id()).toBe('hosted_b');
  preference.swapped('hosted_a', 'hosted_c');
  expect(preference.id()).toBe('hosted_b');
  clock.advance(HOUR_MS / 2);
  expect([preference.id(), clock.pending()]).toEqual([null, 0]);
});
