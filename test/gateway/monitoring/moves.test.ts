import { expect, test } from 'vitest';
import { createMoves } from '../../../main/gateway/monitoring/moves.ts';
import { attempt, request } from '../../renderer/builders.ts';
import { createManualClock } from '../../support/clock.ts';

const HOUR_MS = 3_600_000;
const caller = { key: null, address: null, userAgent: 'codex/1.2' };

/** Refused by `local` in these words, and answered elsewhere. */
function moved(error: string, reason: `http_${number}` | 'context_length' = 'http_400') {
  const attempts = [attempt({ reason, error }), attempt({ upstream: 'hosted_a' })];
  return request('r', { caller, attempts, spentNano: 5 });
}

function createTally() {
  const clock = createManualClock();
  return { clock, tally: createMoves(clock) };
}

test('requests that move on three times in an hour for the same unexplained words cause a notice with their cost', () => {
  const { clock, tally } = createTally();
  for (const id of [17, 18]) tally.ended(moved(`HTTP 400: no field "a${id}" at ${id}`));
  expect(tally.view()).toEqual([]);
  tally.ended(moved('HTTP 400: no field "a19" at 19'));
  expect(tally.view()).toEqual([
    {
      upstream: 'local',
      words: 'HTTP 400: no field "a19" at 19',
      caller,
      key: null,
      count: 3,
      spentNano: 15,
    },
  ]);
  clock.advance(HOUR_MS);
  expect(tally.view()).toEqual([]);
});

test('refusals that are explained, that end a request, or that differ in words cause no notice', () => {
  const { tally } = createTally();
  for (const words of ['one', 'two', 'three']) {
    tally.ended(moved(words));
    tally.ended(moved('too long', 'context_length'));
    tally.ended(request('r', { attempts: [attempt({ reason: 'http_400', error: 'last' })] }));
  }
  expect(tally.view()).toEqual([]);
});
