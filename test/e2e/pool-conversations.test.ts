import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { StoreChange } from '../../main/registry/store/store.ts';
import { chat } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openingShared } from '../support/pool.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { MODEL, startMachine } from '../support/tier.ts';
import { answers } from '../support/upstream.ts';

const postgres = usePostgres();
const SECRET = 'a1'.repeat(32);
const CONVERSATIONS = 12;
/** Some 2,000 tokens. */
const LONG = 'word '.repeat(1600);

let talks = 0;

/** A conversation of an app that sends all of it with each turn. */
function conversation() {
  talks += 1;
  const name = `talk ${talks}`;
  const messages: { role: string; content: string }[] = [];
  return {
    /** The next turn; gives the machine that served it. */
    async turn({ url }: TestGateway): Promise<string> {
      messages.push({ role: 'user', content: `${name} ${messages.length} ${LONG}` });
      const answer = await chat(url, { model: MODEL, messages });
      expect(answer).toMatchObject({ status: 200, upstream: 'local' });
      messages.push({ role: 'assistant', content: 'yes' });
      return String(answer.headers['x-gateway-provider']);
    },
  };
}

/** Verified machines in the database of a pool, beside one of its gateways that only listens. */
async function machinesIn(databaseUrl: string, count: number) {
  const secretDigest = createHmac('sha256', SECRET).update('pool').digest('hex');
  const { opened } = await openingShared(databaseUrl, 'gw_listening', { secretDigest });
  if (opened.kind !== 'open') throw new Error(opened.message);
  const { store, pool } = opened;
  const machines = await Promise.all(
    Array.from({ length: count }, () => startMachine(answers('yes'))),
  );
  let sequence = 0;
  async function write(part?: 'heartbeat'): Promise<void> {
    sequence += 1;
    const now = systemClock.now();
    const changes = machines.map(({ stored }): StoreChange => {
      const verification = { ...stored.verification, lastCheckAt: now, lastInferenceAt: now };
      const provider = { ...stored, sequence, lastHeartbeatAt: now, verification };
      return part === undefined
        ? { kind: 'provider', provider }
        : { kind: 'provider', provider, part };
    });
    expect(await store.write(changes)).toMatchObject({ kind: 'written' });
  }
  await write();
  let heard = 0;
  pool.onPrefixes((prefixes) => (heard += prefixes.length));
  return { beat: () => write('heartbeat'), heard: () => heard };
}

describe.runIf(POSTGRES_SKIPPED === null)('two gateways on one database', () => {
  test('a conversation that arrives at another gateway goes to the machine that has read it', async () => {
    const url = await postgres.database();
    const { beat, heard } = await machinesIn(url, 3);
    const settings = { DATABASE_URL: url, POOL_SECRET: SECRET };
    const [first, second] = [await startGateway(settings), await startGateway(settings)];
    let asked = 0;
    /** How many new conversations stay where they began when they go on at the other gateway. */
    async function stayed(): Promise<number> {
      await beat();
      const all = Array.from({ length: CONVERSATIONS }, conversation);
      const began: string[] = [];
      for (const each of all) began.push(await each.turn(first));
      asked += all.length;
      // What is told has then left the first gateway; the second hears of it at about the same time.
      await expect.poll(heard).toBeGreaterThanOrEqual(asked);
      const went: string[] = [];
      for (const each of all) went.push(await each.turn(second));
      asked += all.length;
      const isSpread = new Set(began).size > 1;
      return isSpread ? went.filter((machine, at) => machine === began[at]).length : 0;
    }
    await expect.poll(stayed).toBe(CONVERSATIONS);
  });
});
