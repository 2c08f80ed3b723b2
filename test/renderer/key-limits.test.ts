import { expect, test } from 'vitest';
import { changeOf, draftOf, standingOf } from '../../renderer/features/settings/key-limits.tsx';

const use = (used: number, limit: number) => {
  return { name: 'requestsDay', used, limit, resetsAt: '2026-11-23T00:00:00.000Z' } as const;
};

test.each([
  [799, 'free'],
  [800, 'near'],
  [999, 'near'],
  [1000, 'reached'],
  [1001, 'reached'],
])('%d of 1000 is %s', (used, standing) => {
  expect(standingOf(use(used, 1000))).toBe(standing);
});

test('a field that is emptied lifts its limit, and one that is left alone keeps it', () => {
  const draft = draftOf([use(5, 1000), { ...use(5, 70), name: 'tokensMonth' }]);
  expect(changeOf({ ...draft, requestsDay: '', tokensDay: '20' })).toEqual({
    requestsDay: null,
    requestsMonth: null,
    tokensDay: 20,
    tokensMonth: 70,
  });
});
