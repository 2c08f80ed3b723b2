import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chat, expectServed } from '../support/client.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { directoryWith } from '../support/data-directory.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { controlOf } from '../support/control.ts';
import { enrolled, type Machine, startMachine } from '../support/tier.ts';
import { answers, error, hang } from '../support/upstream.ts';

/** One run of a gateway on a directory that outlives it. */
async function start(dataDirectory: string, machines: readonly Machine[], clock: ManualClock) {
  const heard = { lastHeartbeatAt: clock.now() };
  const providers = enrolled(machines.map(({ stored }) => ({ ...stored, ...heard })));
  directoryWith({ providers }, dataDirectory);
  const settings = { FAIL_THRESHOLD: '1', COOLDOWN_MS: '40000' };
  const { url, host } = await startIn(dataDirectory, settings, clock);
  return { url, stop: () => host.stop(), ...controlOf({ url, dataDirectory }) };
}

test('circuits, skips and counts of machines outlast a restart, and the next request fails nowhere twice', async () => {
  const dataDirectory = temporaryDirectory();
  const clock = createManualClock();
  const [dead, poor] = [await startMachine(error(503)), await startMachine(error(402))];
  const alive = await startMachine(answers('hi'));
  const machines = [dead, poor, alive];
  const first = await start(dataDirectory, machines, clock);
  const reason = `local/${dead.id}=http_503; local/${poor.id}=quota`;
  expect(await chat(first.url)).toMatchObject({ status: 200, reason });
  const before = await first.status();
  expect(before.circuits[dead.id]).toMatchObject({ open: true, fails: 1 });
  await first.stop();

  clock.advance(20_000);
  const second = await start(dataDirectory, machines, clock);
  const after = await second.status();
  expect(after.circuits[dead.id]).toEqual({
    ...before.circuits[dead.id],
    cooldownRemainingMs: 20_000,
  });
  expect(after.stats.perUpstream).toEqual(before.stats.perUpstream);
  expect(await chat(second.url)).toMatchObject({ status: 200, reason: 'none' });
  expect([dead.calls.length, poor.calls.length, alive.calls.length]).toEqual([1, 1, 2]);
  const { successCount, ewmaLatency } = await second.provider(alive.id);
  expect([successCount, ewmaLatency]).toEqual([2, 0]);
  expect(after.stats.providerLatencies).toEqual(before.stats.providerLatencies);
});

test('the state file has no token in it', async () => {
  const dataDirectory = temporaryDirectory();
  const machine = await startMachine(answers('hi'));
  const run = await start(dataDirectory, [machine], createManualClock());
  await chat(run.url);
  await run.stop();
  const token = String(machine.calls[0]?.headers['x-gateway-token']);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  const text = readFileSync(join(dataDirectory, 'state.json'), 'utf8');
  expect(text).toContain(machine.id);
  expect(text).not.toContain(token);
});

test('a probe that was running at the end is not running after a restart', async () => {
  const dataDirectory = temporaryDirectory();
  const clock = createManualClock();
  const machine = await startMachine(error(503));
  const first = await start(dataDirectory, [machine], clock);
  await chat(first.url);
  clock.advance(40_000);
  machine.script = hang;
  const probe = chat(first.url).catch(() => null);
  await machine.call(2);
  const stopped = first.stop();
  clock.advance(30_000);
  await Promise.all([stopped, probe]);

  machine.script = answers('well again');
  const second = await start(dataDirectory, [machine], clock);
  expect((await second.status()).circuits[machine.id]).toMatchObject({ open: true });
  expectServed(await chat(second.url), 'local');
  expect((await second.status()).circuits[machine.id]).toMatchObject({ open: false });
});
