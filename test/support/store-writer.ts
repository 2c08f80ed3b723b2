import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import type { StoredProvider } from '../../main/registry/store/store.ts';
import { print } from './print.ts';

/*
 * Writes to the store at the path that it is given for as long as it lives, and prints the number of
 * each write once it is acknowledged. Write n keeps n in three places, which must never differ.
 */

/** So many writes are on their way at any time, each of a provider of its own. */
const LANES = 8;

function provider(lane: number, n: number): StoredProvider {
  return {
    id: `prv_${lane}`,
    publicKey: 'key',
    tokenSalt: 'salt',
    enrolledAt: 0,
    sequence: n,
    record: null,
    lastHeartbeatAt: n,
    lastHeartbeatIp: '',
    heartbeatCount: n,
    verification: {
      state: 'pending',
      // Some pages long now and then, so that a kill finds transactions of many pages.
      checks: [{ name: 'x'.repeat(n % 50 === 0 ? 40_000 : 10), passed: true }],
      lastCheckAt: null,
      lastInferenceAt: null,
      failedRuns: n,
      address: null,
    },
  };
}

const path = process.argv[2] ?? '';
print('started');
const opened = await openStore(path, { log: silentLog, clock: systemClock });
if (opened.kind !== 'open') throw new Error(opened.message);
if (opened.warning !== null) throw new Error(opened.warning);
const { store, state } = opened;
print('opened');
await Promise.all(
  Array.from({ length: LANES }, async (_, lane) => {
    const last = state.providers.find(({ id }) => id === `prv_${lane}`)?.sequence ?? 0;
    for (let n = last + 1; ; n += 1) {
      const result = await store.write([
        { kind: 'provider', provider: provider(lane, n) },
        {
          kind: 'event',
          event: { providerId: `prv_${lane}`, at: n, kind: 'status', text: `${n}` },
        },
        { kind: 'document', name: `lane ${lane}`, json: `${n}` },
      ]);
      if (result.kind === 'unwritten') throw new Error(result.message);
      print(`kept ${lane} ${n}`);
    }
  }),
);
