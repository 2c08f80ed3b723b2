import { expect, test } from 'vitest';
import { openArena } from '../chaos/arena.ts';
import { playAll } from '../chaos/chaos.ts';
import { reportOf } from '../chaos/report.ts';

/** `npm run chaos` plays more. */
const REQUESTS = 150;

test('many callers at once get the right answer, or a beginning that is marked as broken, whatever upstreams do', async () => {
  const arena = await openArena(24);
  const wrong: string[] = [];
  const { counts, left } = await playAll(arena, {
    requests: REQUESTS,
    onWrong: (played) => wrong.push(reportOf(played, false)),
  });
  const leftAtEnd = await arena.close();
  expect(wrong).toEqual([]);
  expect([...left, ...leftAtEnd]).toEqual([]);
  // Ends of each kind have been looked at.
  expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
  // Three gateways: on a busy machine that takes its time.
}, 300_000);
