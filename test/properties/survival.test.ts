import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueTo, seenBy } from '../support/survival-model.ts';
import { histories } from '../support/survival-parts.ts';
import { live, startCast } from '../support/survival-world.ts';

test('whatever upstreams do, a caller gets one whole answer or one that visibly ends, and nothing is left', async () => {
  const cast = await startCast();
  const law = fc.asyncProperty(histories, async (history) => {
    const survived = await live(history, cast);
    expect(seenBy(history, survived)).toEqual(dueTo(history, survived));
    expect(survived.left).toEqual({ calls: 0, inFlight: 0, timers: 0 });
  });
  await expect(fc.assert(law, { numRuns: 300 })).resolves.toBeUndefined();
  // Three hundred gateways: on a busy machine that takes its time.
}, 300_000);
