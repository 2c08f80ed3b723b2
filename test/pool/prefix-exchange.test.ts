import { describe, expect, test } from 'vitest';
import { createPrefixes } from '../../main/gateway/routing/prefixes.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createSharedPrefixes } from '../../main/pool/gateway-sharing.ts';
import { MAX_PREFIXES } from '../../main/pool/protocol.ts';
import { openAsEach, type SharedStore, updateOf } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { hashIsReady } from '../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

const postgres = usePostgres();

async function gateways(...ids: string[]) {
  const url = await postgres.database();
  return { url, all: await openAsEach(url, ...ids) };
}

describe.runIf(POSTGRES_SKIPPED === null)('what the gateways of a pool tell of prompts', () => {
  test('an exchange tells only the latest prompts, as many as one notification holds', async () => {
    const { all } = await gateways('gw_a', 'gw_b');
    const [a, b] = all as [SharedStore, SharedStore];
    const heard = new Promise((resolve) => b.pool.onPrefixes(resolve));
    const { prefixes, outgoing } = createSharedPrefixes(createPrefixes(systemClock), () => true);
    const largest = Number.MAX_SAFE_INTEGER;
    for (let n = 0; n < 3 * MAX_PREFIXES; n += 1) {
      const id = `prv_${n.toString(16).padStart(32, 'f')}`;
      prefixes.read(id, { keys: [largest - 2, largest - 1], session: largest });
      prefixes.read(id, { keys: [largest - 2, largest - 1, largest], session: largest });
    }
    const told = outgoing();
    expect(told).toHaveLength(MAX_PREFIXES);
    expect(told.at(-1)).toMatchObject({ machine: expect.stringMatching(/bf$/), session: largest });
    await a.pool.exchange(updateOf({ prefixes: told }));
    expect(await heard).toEqual(told);
    expect(outgoing()).toEqual([]);
  });

  test('a notification of another version or of too many bytes is ignored, and others are heard', async () => {
    const { url, all } = await gateways('gw_a', 'gw_b');
    const [a, b] = all as [SharedStore, SharedStore];
    const heard: unknown[] = [];
    b.pool.onPrefixes((prefixes) => heard.push(...prefixes));
    const one = { machine: 'prv_1', keys: [1], session: null };
    for (const payload of ['', '{', '[]', '["gw_x",[["prv_1",null,"a"]]]', '["gw_x",[[1,2,3]]]'])
      await postgres.query(url, `SELECT pg_notify('inglenook_prefixes', '${payload}')`);
    const long = { ...one, machine: 'x'.repeat(9000) };
    expect(await a.pool.exchange(updateOf({ prefixes: [long] }))).not.toBeNull();
    await a.pool.exchange(updateOf({ prefixes: [one] }));
    await expect.poll(() => heard).toEqual([one]);
  });
});
