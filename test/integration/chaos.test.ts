import { expect, test } from 'vitest';
import { playChaos } from '../chaos/arena.ts';

test('many callers at once get the right answer, or a beginning that is marked as broken, whatever upstreams do', async () => {
  // `npm run chaos` plays more.
  const { counts, found } = await playChaos(24, 100);
  expect(found).toEqual([]);
  // Ends of each kind have been looked at.
  expect(Object.keys(counts)).toHaveLength(6);
}, 300_000);
