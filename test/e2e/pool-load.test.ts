import { describe, expect, onTestFinished, test } from 'vitest';
import { createGateway, type PoolGateway } from '../faults/gateways.ts';
import { type FaultMachine, startFleet } from '../faults/machines.ts';
import { millisecondsUntil } from '../support/at-once.ts';
import { CHAT, HELLO } from '../support/client.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { postJson, send } from '../support/http.ts';
import { POSTGRES_SKIPPED, usePostgres } from '../support/postgres.ts';
import { createLedger, enrol, post } from '../support/registry-load.ts';

const postgres = usePostgres();

const HELD = 24;
/** By chance no such row of requests passes a machine by. */
const IN_A_ROW = 20;
/** Figures go out every second. */
const KNOWN_MS = 3000;

async function startPool(): Promise<readonly [string, PoolGateway, PoolGateway]> {
  const url = await postgres.database();
  const directory = temporaryDirectory();
  const settings = { INGLENOOK_HEDGE: 'off' };
  const both = await Promise.all(
    ['a', 'b'].map((name) => createGateway(name, directory, url, settings)),
  );
  onTestFinished(async () => {
    await Promise.all(both.map((each) => each.kill()));
    await Promise.all(both.map(({ way }) => way.close()));
  });
  await Promise.all(both.map((each) => each.start()));
  const [a, b] = both as [PoolGateway, PoolGateway];
  return [url, a, b];
}

async function joined(gateway: PoolGateway): Promise<readonly FaultMachine[]> {
  const machines = await startFleet(2, { holdMs: () => 0 });
  onTestFinished(() => machines.forEach((machine) => machine.close()));
  const ledger = createLedger();
  for (const machine of machines) {
    await enrol(gateway, ledger, machine.agent);
    const heard = await post(gateway, machine.agent.heartbeat(machine.record()));
    expect(heard.status).toBe(200);
  }
  return machines;
}

const ask = async ({ url }: PoolGateway) => (await postJson(url + CHAT, HELLO)).status;

async function verifiedAt({ url }: PoolGateway): Promise<number> {
  const { text } = await send(`${url}/api/v1/status`);
  return (JSON.parse(text) as { local: { verified_count: number } }).local.verified_count;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

// The machines have addresses of loopback of their own, which only Linux has unasked.
describe.runIf(POSTGRES_SKIPPED === null && process.platform === 'linux')('two gateways', () => {
  test('one of two gateways skips a machine that is busy for the other, and both count what all have served', async () => {
    const [url, a, b] = await startPool();
    const machines = await joined(a);
    const [busy, idle] = machines as [FaultMachine, FaultMachine];
    for (const gateway of [a, b]) await expect.poll(() => verifiedAt(gateway)).toBe(2);

    for (const { calls } of machines) calls.isHolding = true;
    const asked = Array.from({ length: HELD }, () => ask(a));
    await expect.poll(() => sum(machines.map(({ calls }) => calls.held.length))).toBe(HELD);
    expect(busy.calls.held.length).toBeGreaterThan(HELD / 4);
    for (const { calls } of machines) calls.isHolding = false;
    for (const answer of idle.calls.held.splice(0)) answer();
    let served = 0;
    async function passesBy(): Promise<void> {
      for (let row = 0; row < IN_A_ROW; row += 1) {
        const before = busy.calls.all;
        expect(await ask(b)).toBe(200);
        served += 1;
        if (busy.calls.all > before) row = -1;
      }
    }
    expect(await millisecondsUntil(passesBy())).toBeLessThan(KNOWN_MS);
    for (const answer of busy.calls.held.splice(0)) answer();
    expect([...new Set(await Promise.all(asked))]).toEqual([200]);

    const all = HELD + served;
    const totals = { requests: all, answers: all, fallbacks: 0 };
    for (const gateway of [a, b])
      await expect.poll(async () => (await gateway.pool())?.totals).toMatchObject(totals);
    const report = await b.pool();
    const gateways = report?.gateways ?? [];
    expect(gateways.find(({ id }) => id === report?.gateway)?.requests).toBe(served);
    expect(report?.totals.tokens).toBeGreaterThan(0);
    expect(sum(gateways.map(({ tokens }) => tokens))).toBe(report?.totals.tokens);
    // Each tells every two seconds, so a machine that another one has just verified counts twice for a while.
    const verified = async () => sum((await b.pool())?.gateways.map((each) => each.verified) ?? []);
    await expect.poll(verified).toBe(2);

    await a.kill();
    const ago = `UPDATE inglenook.gateways SET seen_at = seen_at - interval '2 days' WHERE id <> '${report?.gateway}'`;
    await postgres.query(url, ago);
    await expect.poll(async () => (await b.pool())?.gateways.length).toBe(1);
    expect((await b.pool())?.totals).toEqual(report?.totals);
  });
});
