import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { play, startCast } from '../mixed/play.ts';
import { stories } from '../mixed/stories.ts';

test('any upstream takes over a conversation at any turn, with all its texts, images, calls and results', async () => {
  const cast = await startCast();
  const property = fc.asyncProperty(stories, async (story) => {
    for (const { expected, ...turn } of await play(story, cast)) {
      expect(turn).toMatchObject({ status: 200, upstream: expected, lost: [], needless: [] });
      expect(turn.pairs).toEqual(turn.given);
    }
  });
  await expect(fc.assert(property, { numRuns: 40 })).resolves.toBeUndefined();
}, 300_000);
