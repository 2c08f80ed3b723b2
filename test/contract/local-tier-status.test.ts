import { expect, test } from 'vitest';
import type { ProviderList } from '#shared/provider.ts';
import { chat, chatStream } from '../support/client.ts';
import { expectError, send } from '../support/http.ts';
import { turns } from '../support/report.ts';
import {
  enrolled,
  type Machine,
  type MachineGiven,
  MODEL,
  startMachine,
  startMachineAs,
  startTier,
  storedMachine,
  type Tier,
} from '../support/tier.ts';
import { answers, chunk, DONE, error, hang, ROLE, STOP } from '../support/upstream.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { directoryWith } from '../support/data-directory.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { controlOf } from '../support/control.ts';

/** Lets a machine stream an answer: its first content after `ttftMs`, its end `restMs` later. */
async function serve(tier: Tier, machine: Machine, ttftMs: number, restMs: number): Promise<void> {
  const answer = chatStream(tier.url);
  const { res } = await machine.call(machine.calls.length + 1);
  await turns(tier);
  tier.clock.advance(ttftMs);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(ROLE + chunk({ content: 'hi' }));
  await turns(tier, 4);
  tier.clock.advance(restMs);
  res.end(STOP + DONE);
  expect(await answer).toMatchObject({ status: 200, upstream: 'local' });
}

test('the status report before the first request knows the machines and nothing of their traffic', async () => {
  const machine = await startMachine(answers('hi'));
  const pending = { state: 'pending', address: null } as const;
  const failed = { state: 'failed', address: null } as const;
  const unverified = [
    await startMachineAs({ verification: pending, record: { status: 'paused' } }),
    await startMachineAs({ verification: failed, record: { status: 'paused' } }),
  ];
  const tier = await startTier([machine, ...unverified]);
  const report = await tier.status();
  expect(report).toMatchObject({ ok: true });
  expect(report.local).toEqual({
    verified_count: 1,
    pending_count: 1,
    failed_count: 1,
    provider: {
      id: machine.id,
      verification: expect.objectContaining({ status: 'verified' }) as unknown,
      tailnet_ip: null,
      agent_url: '',
      last_heartbeat: '2026-01-01T00:00:00.000Z',
      engine_model: 'Qwen3-32B-Q4_K_M.gguf',
      engine_health: { status: 'ok', code: 200 },
    },
    health: 'ok',
    slow: null,
    windows: [],
  });
  const shown = { id: 'local', baseUrl: null, model: MODEL, hasKey: false, healthy: true };
  expect(report.upstreams[0]).toMatchObject(shown);
  for (const { id } of [machine, ...unverified]) {
    expect(report.circuits[id]).toMatchObject({ open: false, fails: 0, successes: 0 });
    expect(report.stats.perUpstream[id]).toEqual({ requests: 0, fails: 0, successes: 0 });
    expect(report.stats.providerLatencies[id]).toMatchObject({ ewmaLatency: null, samples: 0 });
  }
  expect(report.config.models.local).toBe(MODEL);
});

test('the status report names the first thousand machines never called, and each that was', async () => {
  const machine = await startMachine(answers('hi'));
  const ids = Array.from({ length: 1003 }, (_, n) => `prv_f${n.toString(16).padStart(31, '0')}`);
  const others = ids.map((id) => ({
    stored: storedMachine(id, '', { verification: { state: 'failed', address: null } }),
  }));
  const tier = await startTier([...others, machine]);
  const named = async () =>
    Object.keys((await tier.status()).circuits).filter((id) => id.startsWith('prv_'));
  expect(await named()).toHaveLength(1000);
  expect(await chat(tier.url)).toMatchObject({ upstream: 'local' });
  expect(await named()).toContain(machine.id);
});

test('the status report shows each machine’s circuit, counts and latencies', async () => {
  const machine = await startMachine(hang);
  const tier = await startTier([machine]);
  await serve(tier, machine, 120, 380);
  const { circuits, stats } = await tier.status();
  const circuit = {
    fails: 0,
    successes: 1,
    failUntil: null,
    lastError: null,
    lastFailAt: null,
    lastSuccessAt: '2026-01-01T00:00:00.500Z',
    consecutiveFails: 0,
    open: false,
    cooldownRemainingMs: 0,
  };
  expect(circuits[machine.id]).toEqual(circuit);
  expect(stats.circuits).toEqual(circuits);
  expect(stats.providerCircuits).toEqual({ [machine.id]: circuit });
  expect(stats.providerLatencies).toEqual({
    [machine.id]: { ewmaTtft: 120, ewmaLatency: 500, lastTtftMs: 120, samples: 1 },
  });
  expect(stats.perUpstream[machine.id]).toEqual({ requests: 1, fails: 0, successes: 1 });
  expect(stats.perUpstream['local']).toEqual({ requests: 1, fails: 0, successes: 1 });
  expect(circuits['local']).toMatchObject({ ewmaTtft: 120, lastTtftMs: 120, successes: 1 });
});

test('the status report counts at a machine each attempt, and at local what came of each request', async () => {
  const [dead, alive] = [await startMachine(error(503)), await startMachine(answers('hi'))];
  const tier = await startTier([dead, alive]);
  await chat(tier.url);
  const { stats } = await tier.status();
  expect(stats).toMatchObject({ totalRequests: 1, fallbackCount: 1 });
  expect(stats.perUpstream).toMatchObject({
    local: { requests: 2, fails: 0, successes: 1 },
    [dead.id]: { requests: 1, fails: 1, successes: 0 },
    [alive.id]: { requests: 1, fails: 0, successes: 1 },
  });
  expect(stats.providerCircuits[dead.id]?.lastError).toBe('http_503: HTTP 503');
  const unknown = { ewmaTtft: null, ewmaLatency: null, lastTtftMs: null, samples: 0 };
  expect(stats.providerLatencies[dead.id]).toEqual(unknown);
});

test('the status report shows the machine that routing would pick now, else the one heard last', async () => {
  const [first, second] = [await startMachine(error(503)), await startMachine()];
  const tier = await startTier([first, second], { FAIL_THRESHOLD: '1', COOLDOWN_MS: '10000' });
  const shown = async () => {
    const { provider, health } = (await tier.status()).local;
    return [provider?.id, health];
  };
  const [, health] = await shown();
  expect(health).toBe('ok');
  second.script = answers('hi');
  await chat(tier.url);
  expect(await shown()).toEqual([second.id, 'ok']);
  second.script = error(503);
  await chat(tier.url);
  const [left, degraded] = await shown();
  expect([first.id, second.id]).toContain(left);
  expect(degraded).toBe('degraded');
  expect(await tier.status()).toMatchObject({ ok: false });
  tier.clock.advance(10_000);
  expect((await shown())[1]).toBe('ok');
});

test.each<[says: string, given: readonly MachineGiven[], health: string]>([
  ['nobody is enrolled', [], 'unavailable'],
  ['nobody is verified', [{ verification: { state: 'failed', address: null } }], 'unavailable'],
  ['the verified one is paused', [{ record: { status: 'paused' } }], 'degraded'],
  ['the verified one has lost its engine', [{ record: { status: 'degraded' } }], 'degraded'],
])('the status report calls local unable if %s', async (_says, given, health) => {
  const tier = await startTier(await Promise.all(given.map((each) => startMachineAs(each))));
  const report = await tier.status();
  expect(report).toMatchObject({ ok: false, local: { health } });
  expect(report.local.provider === null).toBe(given.length === 0);
  expect(report.upstreams[0]).toMatchObject({ healthy: false });
  expect(await send(`${tier.url}/readyz`)).toMatchObject({ status: 503 });
});

test('the status report calls local degraded while its machines are excluded for other reasons than a circuit', async () => {
  const busy = await startMachine(error(503, 'busy'));
  const tier = await startTier([busy]);
  await chat(tier.url);
  expect(await tier.status()).toMatchObject({ ok: false, local: { health: 'degraded' } });
  tier.clock.advance(2000);
  expect(await tier.status()).toMatchObject({ ok: true, local: { health: 'ok' } });
});

test.each([
  ['answers', answers('the last one')],
  ['refuses', error(402)],
  ['fails', error(503)],
])(
  'the status report has nothing of a removed machine that then %s its last request',
  async (_says, last) => {
    const [machine, other] = [await startMachine(hang), await startMachine(answers('hi'))];
    const tier = await startTier([machine, other]);
    const answer = chat(tier.url);
    const call = await machine.call(1);
    expect((await tier.call('DELETE', `providers/${machine.id}`)).status).toBe(200);
    await last(call);
    expect(await answer).toMatchObject({ status: 200 });
    const { circuits, stats, local } = await tier.status();
    expect(local).toMatchObject({ verified_count: 1, provider: { id: other.id } });
    for (const map of [circuits, stats.perUpstream, stats.providerLatencies]) {
      expect(map).not.toHaveProperty(machine.id);
    }
    expectError(await tier.post(`circuits/${machine.id}/reset`), 404, 'not_found');
    expect((await chat(tier.url)).headers['x-gateway-provider']).toBe(other.id);
  },
);

test('the list of providers shows what the gateway has seen of each, while it serves and after', async () => {
  const machine = await startMachine(hang);
  const tier = await startTier([machine]);
  const traffic = async () => {
    const { ewmaTtft, ewmaLatency, concurrentRequests, totalRequests, successCount } =
      await tier.provider(machine.id);
    return [ewmaTtft, ewmaLatency, concurrentRequests, totalRequests, successCount];
  };
  expect(await traffic()).toEqual([null, null, 0, 0, 0]);
  const pending = chatStream(tier.url);
  const call = await machine.call(1);
  await turns(tier);
  expect(await traffic()).toEqual([null, null, 1, 1, 0]);
  error(503)(call);
  await pending;
  expect(await traffic()).toEqual([null, null, 0, 1, 0]);
  await serve(tier, machine, 100, 900);
  expect(await traffic()).toEqual([100, 1000, 0, 2, 1]);
  await serve(tier, machine, 100, 900);
  expect(await traffic()).toEqual([100, 1000, 0, 3, 2]);
  const { data } = await tier.read<ProviderList>('providers');
  expect(data).toEqual([await tier.provider(machine.id)]);
});

test('the verifier checks a machine that has failed a request, and no other', async () => {
  const [dead, alive] = [await startMachine(error(503)), await startMachine(answers('hi'))];
  const tier = await startTier([dead, alive]);
  const checkedAt = async ({ id }: Machine) => (await tier.provider(id)).verification.last_check;
  tier.clock.advance(5000);
  await turns(tier, 5);
  expect(await checkedAt(dead)).toBe('2026-01-01T00:00:00.000Z');
  await chat(tier.url);
  tier.clock.advance(1000);
  await expect.poll(() => checkedAt(dead)).toMatch(/^2026-01-01T00:00:0[56]/);
  expect(await checkedAt(alive)).toBe('2026-01-01T00:00:00.000Z');
});

/** One run of a gateway on a directory that outlives it. */
async function start(dataDirectory: string, machines: readonly Machine[], clock: ManualClock) {
  const heard = { lastHeartbeatAt: clock.now() };
  const providers = enrolled(machines.map(({ stored }) => ({ ...stored, ...heard })));
  directoryWith({ providers }, dataDirectory);
  const settings = { FAIL_THRESHOLD: '1', COOLDOWN_MS: '40000' };
  const { url, host } = await startIn(dataDirectory, settings, clock);
  return { url, stop: () => host.stop(), ...controlOf({ url, dataDirectory }) };
}

test('circuits, skips and counts of machines outlast a restart, the next request fails nowhere twice, and no token is kept', async () => {
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
  const kept = readFileSync(join(dataDirectory, 'state.json'), 'utf8');
  expect(kept).toContain(alive.id);
  for (const { calls } of machines) {
    const token = String(calls[0]?.headers['x-gateway-token']);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(kept).not.toContain(token);
  }

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
