import { expect, test } from 'vitest';
import { movesIn } from '../../../main/gateway/monitoring/moves.ts';
import { attempt, NOW, request } from '../../renderer/builders.ts';

const HOUR_MS = 3_600_000;
const caller = { key: null, address: null, userAgent: 'codex/1.2' };

/** Refused by `local` in these words, and answered elsewhere. */
function moved(error: string, reason: `http_${number}` | 'context_length' = 'http_400') {
  const attempts = [attempt({ reason, error }), attempt({ upstream: 'hosted_a' })];
  return request('r', { caller, attempts, spentNano: 5 });
}

test('requests that move on three times in an hour for the same unexplained words cause a notice with their cost', () => {
  const rows = [19, 18, 17].map((id) => moved(`HTTP 400: no field "a${id}" at ${id}`));
  expect(movesIn(rows.slice(1), NOW)).toEqual([]);
  expect(movesIn(rows, NOW)).toEqual([
    {
      upstream: 'local',
      words: 'HTTP 400: no field "a19" at 19',
      caller,
      key: null,
      count: 3,
      spentNano: 15,
    },
  ]);
  expect(movesIn(rows, NOW + HOUR_MS)).toEqual([]);
});

test('refusals that are explained, that end a request, or that differ in words cause no notice', () => {
  const rows = ['one', 'two', 'three'].flatMap((words) => [
    moved(words),
    moved('too long', 'context_length'),
    request('r', { attempts: [attempt({ reason: 'http_400', error: 'last' })] }),
  ]);
  expect(movesIn(rows, NOW)).toEqual([]);
});
