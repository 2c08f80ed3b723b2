import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../main/config/load.ts';
import { createCircuits } from '../../main/gateway/circuits/circuits.ts';
import { createStats } from '../../main/gateway/monitoring/counters.ts';
import { createPrefixes } from '../../main/gateway/routing/prefixes.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createGatewaySharing } from '../../main/pool/gateway-sharing.ts';
import type { PoolUpdate } from '../../main/pool/protocol.ts';
import { millisecondsUntil } from '../support/at-once.ts';
import { UNWATCHED } from '../support/circuits.ts';
import { openShared, type SharedStore } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

const LOADED = loadConfig({}, {});
if (LOADED.kind === 'refused') throw new Error('no defaults');
const { config: CONFIG } = LOADED;

/** What one gateway learns of a circuit the others know within a second. */
const KNOWN_MS = 1000;

const NOTHING: PoolUpdate = {
  circuits: [],
  since: 0,
  inFlight: {},
  claims: [],
  released: [],
  prefixes: [],
};
const OPEN = {
  name: 'hosted_a key',
  cooldown: { leftMs: 60_000, openings: 2, error: 'http_503: a\0b' },
  skips: [{ reason: 'model_not_found', model: 'né\0e\uD800', leftMs: 5000 }],
  resets: 0,
  base: 0,
};

async function gateways(...ids: string[]) {
  const url = await postgres.database();
  return { url, all: await Promise.all(ids.map((id) => openShared(url, id))) };
}

const updateOf = (part: Partial<PoolUpdate>) => ({ ...NOTHING, ...part });

async function exchanged({ pool }: SharedStore, part: Partial<PoolUpdate> = {}) {
  const answer = await pool.exchange(updateOf(part));
  if (answer === null) throw new Error('no answer');
  return answer;
}

/** A gateway's circuits and counters, as it shares them. */
function taking({ pool }: SharedStore) {
  const limits = {
    failThreshold: 1,
    cooldownMs: 60_000,
    ttftThresholdMs: 5000,
    ttftSlowThreshold: 3,
  };
  const stats = createStats();
  const deps = { clock: systemClock, random: () => 0.4 };
  const part = createGatewaySharing(pool, {
    ...deps,
    config: () => CONFIG,
    gatewaySecret: 'the same at all of them',
    isKnown: () => true,
  });
  const circuits = part.share(
    createCircuits({ ...deps, config: () => ({ circuit: limits }), ...UNWATCHED, opened() {} }),
  );
  part.sharePrefixes(createPrefixes(systemClock));
  part.start(stats);
  onTestFinished(() => part.stop());
  return { circuits, stats, inFlightAt: part.inFlightBeside(stats) };
}

describe.runIf(POSTGRES_SKIPPED === null)(
  'what the gateways of a pool report to each other',
  () => {
    test('a circuit is known to the other gateways by the time it has left, and its change is announced', async () => {
      const { all } = await gateways('gw_a', 'gw_b');
      const [a, b] = all as [SharedStore, SharedStore];
      const news = new Promise<void>((resolve) => b.pool.onNews(resolve));
      const own = await exchanged(a, { circuits: [OPEN] });
      expect(own.circuits).toMatchObject([{ name: OPEN.name, isOwn: true }]);
      await news;
      const { circuits } = await exchanged(b);
      expect(circuits).toMatchObject([
        { isOwn: false, cooldown: { openings: 2 }, skips: [{ model: 'né\uFFFDe\uFFFD' }] },
      ]);
      const leftMs = circuits[0]?.cooldown?.leftMs ?? 0;
      expect(leftMs).toBeLessThanOrEqual(60_000);
      expect(leftMs).toBeGreaterThan(30_000);
      const since = circuits[0]?.version ?? 0;
      expect((await exchanged(b, { since })).circuits).toEqual([]);
    });

    test('one of two changes of the same circuit is taken, and the other gateway hears of it', async () => {
      const { all } = await gateways('gw_a', 'gw_b');
      const [a, b] = all as [SharedStore, SharedStore];
      const answers = await Promise.all(all.map((each) => exchanged(each, { circuits: [OPEN] })));
      const owners = answers.map(({ circuits }) => circuits.map(({ isOwn }) => isOwn));
      expect(owners.flat().filter(Boolean)).toHaveLength(1);
      const base = answers[0]?.circuits[0]?.version ?? 0;
      const later = await exchanged(a, {
        circuits: [{ ...OPEN, cooldown: null, base }],
        since: base,
      });
      expect(later.circuits).toMatchObject([{ isOwn: true, cooldown: null }]);
      expect((await exchanged(b, { since: base })).circuits).toMatchObject([{ cooldown: null }]);
    });

    test('one gateway has the claim to a probe until it gives it back or is silent for four seconds', async () => {
      const { url, all } = await gateways('gw_a', 'gw_b');
      const [a, b] = all as [SharedStore, SharedStore];
      const claim = { claims: ['hosted_a', 'prv_1'] };
      const first = await Promise.all(all.map((each) => exchanged(each, claim)));
      const [had = { claims: [] }] = first.filter(({ claims }) => claims.length > 0);
      expect(had.claims.map(({ name }) => name).toSorted()).toEqual(claim.claims);
      expect(first.flatMap(({ claims }) => claims)).toHaveLength(2);
      const [holder, other] = first[0] === had ? [a, b] : [b, a];
      expect((await exchanged(other, claim)).claims).toEqual([]);
      expect((await exchanged(holder, claim)).claims).toMatchObject([
        { isWanted: true },
        { isWanted: true },
      ]);
      await exchanged(holder, { released: ['prv_1'] });
      expect((await exchanged(other, claim)).claims).toEqual([{ name: 'prv_1', isWanted: false }]);
      await postgres.query(
        url,
        `UPDATE switchyard.probes SET until = clock_timestamp() - interval '1 ms'`,
      );
      expect((await exchanged(other, claim)).claims).toHaveLength(2);
      expect((await exchanged(holder, claim)).claims).toEqual([]);
    });

    test('the requests of all other gateways count, and of none that has been silent for five seconds', async () => {
      const { url, all } = await gateways('gw_a', 'gw_b', 'gw_c');
      const [a, b, c] = all as [SharedStore, SharedStore, SharedStore];
      await exchanged(a, { inFlight: { prv_1: 3, prv_2: 1 } });
      await exchanged(b, { inFlight: { prv_1: 2 } });
      expect((await exchanged(c)).inFlight).toEqual({ prv_1: 5, prv_2: 1 });
      expect((await exchanged(a, { inFlight: { prv_1: 4 } })).inFlight).toEqual({ prv_1: 2 });
      const ago = (run: string) =>
        `UPDATE switchyard.in_flight SET written_at = written_at - interval '5 s' WHERE run LIKE '${run}:%'`;
      await postgres.query(url, ago('gw_a'));
      expect((await exchanged(c)).inFlight).toEqual({ prv_1: 2 });
      await exchanged(b);
      expect((await exchanged(c)).inFlight).toEqual({});
    });

    test('a circuit and the requests at a machine are known at the other gateway, also after an outage', async () => {
      const { all } = await gateways('gw_a', 'gw_b');
      const [a, b] = (all as [SharedStore, SharedStore]).map(taking) as [
        ReturnType<typeof taking>,
        ReturnType<typeof taking>,
      ];
      const fail = (id: string) => {
        const admission = a.circuits.admit(id, { model: 'm', timeoutMs: 1000 }, 0);
        if (admission.kind === 'excluded') throw new Error('excluded');
        a.circuits.record(id, admission.permit, {
          kind: 'failure',
          error: 'gone',
          silentMs: 0,
          costMs: 0,
        });
      };
      const stateAtB = (id: string) => b.circuits.at(id).breaker.state.kind;
      fail('prv_1');
      a.stats.entered('prv_1');
      const known = async () => {
        await expect.poll(() => stateAtB('prv_1')).toBe('open');
      };
      expect(await millisecondsUntil(known())).toBeLessThan(KNOWN_MS);
      await expect.poll(() => b.inFlightAt('prv_1')).toBe(1);
      await postgres.kill();
      await expect
        .poll(() => all.map(({ pool }) => pool.status().database))
        .toEqual(['away', 'away']);
      fail('prv_2');
      await postgres.start();
      await expect.poll(() => [stateAtB('prv_2'), b.inFlightAt('prv_1')]).toEqual(['open', 1]);
    });
  },
);
