import { describe, expect, test } from 'vitest';
import type { PoolUpdate } from '../../main/pool/protocol.ts';
import { openAsEach, type SharedStore, updateOf } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

async function gateways(...ids: string[]) {
  const url = await postgres.database();
  return { url, all: await openAsEach(url, ...ids) };
}

async function exchanged({ pool }: SharedStore, part: Partial<PoolUpdate> = {}) {
  const answer = await pool.exchange(updateOf(part));
  if (answer === null) throw new Error('no answer');
  return answer;
}

/** An exchange that gives a claim up waits there for another one, which waits for it. */
const MEET = `
CREATE FUNCTION public.meet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP;
  RETURN OLD;
END $$;
CREATE TRIGGER meet AFTER DELETE ON inglenook.probes FOR EACH ROW EXECUTE FUNCTION public.meet();`;

const WAITING = `SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;

describe.runIf(POSTGRES_SKIPPED === null)(
  'what the gateways of a pool report to each other',
  () => {
    test('the requests of all other gateways count, and of none that has been silent for five seconds', async () => {
      const { url, all } = await gateways('gw_a', 'gw_b', 'gw_c');
      const [a, b, c] = all as [SharedStore, SharedStore, SharedStore];
      await exchanged(a, { inFlight: { prv_1: 3, prv_2: 1 } });
      await exchanged(b, { inFlight: { prv_1: 2 } });
      expect((await exchanged(c)).inFlight).toEqual({ prv_1: 5, prv_2: 1 });
      expect((await exchanged(a, { inFlight: { prv_1: 4 } })).inFlight).toEqual({ prv_1: 2 });
      const ago = (run: string) =>
        `UPDATE inglenook.in_flight SET written_at = written_at - interval '5 s' WHERE run LIKE '${run}:%'`;
      await postgres.query(url, ago('gw_a'));
      expect((await exchanged(c)).inFlight).toEqual({ prv_1: 2 });
      await exchanged(b);
      expect((await exchanged(c)).inFlight).toEqual({});
    });

    test('a gateway that gives up one claim and asks for another meets one that asks for both, and both are answered', async () => {
      const { url, all } = await gateways('gw_a', 'gw_b');
      const [a, b] = all as [SharedStore, SharedStore];
      await exchanged(a, { claims: ['second'] });
      await postgres.query(url, MEET);
      const first = exchanged(a, { claims: ['first'], released: ['second'] });
      await expect.poll(() => postgres.query(url, WAITING)).toHaveLength(1);
      const second = exchanged(b, { claims: ['first', 'second'] });
      const held = (await Promise.all([first, second])).map(({ claims }) =>
        claims.map(({ name }) => name),
      );
      expect(held).toEqual([['first'], ['second']]);
    });
  },
);
