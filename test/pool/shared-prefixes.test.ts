import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrefixes } from '../../main/gateway/routing/prefixes.ts';
import { createSharedPrefixes } from '../../main/pool/gateway-sharing.ts';
import { createManualClock } from '../support/clock.ts';
import { hashIsReady } from '../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

const MACHINE = 'prv_1';
const UNREAD = 0;

const turn = fc.record({
  talk: fc.nat(3),
  gateway: fc.nat(1),
  messages: fc.integer({ min: 1, max: 3 }),
});

test('both gateways know of each conversation what its machine has read, wherever each turn went', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 40 }), (turns) => {
      const both = [0, 1].map(() =>
        createSharedPrefixes(createPrefixes(createManualClock()), () => true),
      );
      const talks = [0, 1, 2, 3].map((talk) => [1, 1000 * (talk + 1)]);
      const chainOf = (given: readonly number[]) => {
        const keys = [...given];
        const lengths = keys.map((_, at) => (at + 1) * 100);
        return { keys, lengths, session: null, bytes: keys.length * 100 };
      };
      for (const { talk, gateway, messages } of turns) {
        const keys = talks[talk] ?? [];
        for (let n = 0; n < messages; n += 1) keys.push((keys.at(-1) ?? 0) + 1);
        const asked = both[gateway];
        asked?.prefixes.read(MACHINE, chainOf(keys));
        for (const other of both) if (other !== asked) other.received(asked?.outgoing() ?? []);
        for (const { prefixes } of both) {
          const next = chainOf([...keys, UNREAD]);
          expect(prefixes.at(MACHINE, next).bytes).toBe(keys.length * 100);
          expect(prefixes.countAt(MACHINE)).toBe(talks.filter((each) => each.length > 2).length);
        }
      }
    }),
  );
});
