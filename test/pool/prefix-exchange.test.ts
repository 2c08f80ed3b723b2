import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { createCircuits } from '../../main/gateway/circuits/circuits.ts';
import { createStats } from '../../main/gateway/monitoring/counters.ts';
import type { PromptChain } from '../../main/gateway/protocols/prompt-chain.ts';
import { createPrefixes } from '../../main/gateway/routing/prefixes.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createGatewaySharing, createSharedPrefixes } from '../../main/pool/gateway-sharing.ts';
import { MAX_PREFIXES, type PoolUpdate } from '../../main/pool/protocol.ts';
import { UNWATCHED } from '../support/circuits.ts';
import { openShared, type SharedStore } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { hashIsReady } from '../../main/gateway/protocols/rolling-hash.ts';

await hashIsReady;

const postgres = usePostgres();

const LOADED = loadConfig({}, {});
if (LOADED.kind === 'refused') throw new Error('no defaults');
const { config: CONFIG } = LOADED;

const NOTHING: PoolUpdate = {
  circuits: [],
  since: 0,
  inFlight: {},
  claims: [],
  released: [],
  prefixes: [],
};

async function gateways(...ids: string[]) {
  const url = await postgres.database();
  return { url, all: await Promise.all(ids.map((id) => openShared(url, id))) };
}

type Shared = ReturnType<typeof sharing>;

/** What a gateway knows of machines, as it shares it. */
function sharing({ pool }: SharedStore) {
  const deps = { clock: systemClock, random: () => 0.4, config: () => CONFIG };
  const part = createGatewaySharing(pool, {
    ...deps,
    gatewaySecret: 'the same at all of them',
    isKnown: (id) => id !== 'prv_unknown',
  });
  part.share(createCircuits({ ...deps, ...UNWATCHED, opened() {} }));
  const prefixes = part.sharePrefixes(createPrefixes(systemClock));
  part.start(createStats());
  onTestFinished(() => part.stop());
  return { prefixes };
}

/** A prompt of messages of 100 bytes, by the keys of its prefixes. */
function prompt(keys: readonly number[]): PromptChain {
  const lengths = keys.map((_, at) => (at + 1) * 100);
  return { keys, lengths, session: null, bytes: keys.length * 100 };
}

describe.runIf(POSTGRES_SKIPPED === null)('what the gateways of a pool tell of prompts', () => {
  test('a conversation is known to all other gateways at its machine, wherever its turns go', async () => {
    const { all } = await gateways('gw_a', 'gw_b', 'gw_c');
    const [a, b, c] = all.map(sharing) as [Shared, Shared, Shared];
    a.prefixes.read('prv_unknown', prompt([1, 2]));
    a.prefixes.read('local', prompt([1, 2]));
    a.prefixes.read('prv_1', prompt([1, 2, 3]));
    const known = (at: Shared, keys: readonly number[]) =>
      at.prefixes.at('prv_1', prompt(keys)).bytes;
    for (const each of [b, c]) await expect.poll(() => known(each, [1, 2, 3, 4, 5])).toBe(300);
    b.prefixes.read('prv_1', prompt([1, 2, 3, 4, 5]));
    for (const each of [a, c]) await expect.poll(() => known(each, [1, 2, 3, 4, 5, 6])).toBe(500);
    for (const { prefixes } of [a, b, c]) expect(prefixes.countAt('prv_1')).toBe(1);
    for (const { prefixes } of [b, c])
      expect([prefixes.countAt('prv_unknown'), prefixes.countAt('local')]).toEqual([0, 0]);
  });

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
    await a.pool.exchange({ ...NOTHING, prefixes: told });
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
      await postgres.query(url, `SELECT pg_notify('switchyard_prefixes', '${payload}')`);
    const long = { ...one, machine: 'x'.repeat(9000) };
    expect(await a.pool.exchange({ ...NOTHING, prefixes: [long] })).not.toBeNull();
    await a.pool.exchange({ ...NOTHING, prefixes: [one] });
    await expect.poll(() => heard).toEqual([one]);
  });
});
