import { expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { HELLO, startChat } from '../support/client.ts';
import { begun, goesOn, startHandover } from '../support/handover.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { chunkOf } from '../support/resume.ts';
import { half, hang, stall, type Script, headOnly } from '../support/upstream.ts';

const BEGUN = begun('a', 3);
/** Its connection stays open: only the gateway can end it. */
const BREAKS = stall(...BEGUN, 'data: {"error":{"message":"no"}}\n\n');

test.each<[phase: string, second: Script, more: object, seen: string]>([
  ['before the head', hang, {}, 'brown'],
  ['between head and content', headOnly, {}, 'brown'],
  ['in half an answer', half('{"choices":['), {}, 'brown'],
  ['while it is going on', stall(chunkOf('b', { content: 'fox ' })), {}, 'fox'],
  ['while it repeats', stall(...begun('b', 2)), { temperature: 0 }, 'carried on'],
])(
  'a caller that leaves a continuation %s aborts both upstream calls at once, and no other upstream is called',
  async (_phase, second, more, seen) => {
    const kind = 'temperature' in more ? 'none' : 'last-message';
    const { a, b, c, gateway } = await startHandover([BREAKS, second, goesOn('c')], {
      HOSTED_B_PREFILL: kind,
      HOSTED_C_PREFILL: kind,
    });
    b.script = second;
    let tries = 0;
    const took = await fastest(async () => {
      tries += 1;
      a.script = BREAKS;
      const pending = startChat(gateway.url, { ...HELLO, ...more, stream: true });
      const [broken, call] = [await a.call(tries), await b.call(tries)];
      await pending.received(seen);
      await turns(gateway);
      pending.leave();
      return millisecondsUntil(Promise.all([broken.gone, call.gone]));
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await turns(gateway);
    expect(inFlight(gateway)).toBe(0);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: tries, successes: 0 });
    expect(await counted(gateway, 'hosted_b')).toEqual({ fails: 0, successes: 0 });
    expect(c.calls).toHaveLength(0);
    expect(gateway.host.snapshot().requests[0]?.state).toBe('cancelled');
  },
);
