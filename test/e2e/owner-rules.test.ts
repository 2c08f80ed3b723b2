import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../main/platform/clock.ts';
import { millisecondsUntil } from '../support/at-once.ts';
import { chat } from '../support/client.ts';
import { expectError } from '../support/http.ts';
import { startRuledHost, type RuledHost } from '../support/ruled-host.ts';
import { BUSY_CARD } from '../support/two-hosts.ts';

/** A machine at rest follows within a second; a busy one must still do so long before the next heartbeat, in 15 s. */
const SOON_MS = 10_000;

const HELD = ['paused', 'hosted_a', 'local=paused'];
const SERVES = ['idle', 'local', 'none'];

/** The list and routing come to say this of the machine. */
async function comesTo(host: RuledHost, [status, ...routed]: readonly string[]): Promise<void> {
  await expect.poll(() => host.status(), { interval: 20 }).toBe(status);
  const { upstream, reason } = await chat(host.url);
  expect([upstream, reason]).toEqual(routed);
}

/** Changes a rule; list and routing must follow in time. */
async function follows(host: RuledHost, rule: object, standing: readonly string[]): Promise<void> {
  const following = host.patch(rule).then(({ status }) => {
    expect(status).toBe(200);
    return comesTo(host, standing);
  });
  expect(await millisecondsUntil(following)).toBeLessThan(SOON_MS);
}

describe('changed owner rules in the list of machines and in routing', () => {
  test.each([
    ['only when idle', { onlyWhenIdle: true }, { onlyWhenIdle: false }, /Someone is using/],
    ['not on battery', { notOnBattery: true }, { notOnBattery: null }, /on battery/],
    ['GPU temperature', { maxGpuTemperatureC: 40 }, { maxGpuTemperatureC: 60 }, /40 °C/],
  ])(
    'the owner rule %s takes effect in list and routing at once, without waiting for a heartbeat',
    async (_title, on, off, reason) => {
      const host = await startRuledHost({
        hostActivity: {
          userIdleMs: () => Promise.resolve(1000),
          isOnBattery: () => Promise.resolve(true),
        },
      });
      await follows(host, on, HELD);
      expect((await host.view()).owner).toMatchObject({
        choice: 'on',
        mode: 'paused',
        rules: on,
        reasons: [expect.stringMatching(reason)],
        unjudgeable: [],
      });
      await follows(host, off, SERVES);
    },
  );

  test('the owner rule to yield takes effect once another program has kept the GPU for 20 s', async () => {
    let aheadMs = 0;
    const clock: Clock = {
      now: () => systemClock.now() + aheadMs,
      ticks: () => systemClock.ticks() + aheadMs,
      after: (ms, fn) => systemClock.after(ms, fn),
    };
    const host = await startRuledHost({ card: BUSY_CARD, clock });
    expect((await host.patch({ yieldToOthers: true })).status).toBe(200);
    expect((await host.view()).owner.mode).toBe('on');
    // Own work may still be ending, and the GPU's load is only another program's 20 s after that; so each
    // change of a rule, which has them all judged, comes 20 s after the one before.
    const laterRule = async (maxGpuTemperatureC: number) => {
      aheadMs += 20_001;
      expect((await host.patch({ maxGpuTemperatureC })).status).toBe(200);
      return (await host.view()).owner.mode;
    };
    let limitC = 60;
    await expect.poll(() => laterRule((limitC += 1))).toBe('paused');
    expect(await millisecondsUntil(comesTo(host, HELD))).toBeLessThan(SOON_MS);
    expect((await host.view()).owner.reasons).toEqual(['Another program uses the GPU.']);
    await follows(host, { yieldToOthers: false }, SERVES);
  });
});

test('an owner rule of the environment counts from the start, is named, and cannot be changed', async () => {
  const host = await startRuledHost({
    env: { INGLENOOK_AGENT_NOT_ON_BATTERY: 'true' },
    hostActivity: { isOnBattery: () => Promise.resolve(false) },
  });
  const { owner } = await host.view();
  expect(owner).toMatchObject({ heldRules: ['notOnBattery'], rules: { notOnBattery: true } });
  const message = expectError(await host.patch({ notOnBattery: false }), 409, 'set_by_environment');
  expect(message).toContain('INGLENOOK_AGENT_NOT_ON_BATTERY');
  expect((await host.view()).owner.rules['notOnBattery']).toBe(true);
});

test('an owner rule that cannot be judged is accepted, named, and leaves the machine serving', async () => {
  const host = await startRuledHost();
  expect((await host.patch({ onlyWhenIdle: true })).status).toBe(200);
  expect((await host.view()).owner).toMatchObject({
    mode: 'on',
    rules: { onlyWhenIdle: true },
    unjudgeable: ['onlyWhenIdle', 'notOnBattery'],
  });
  await comesTo(host, SERVES);
});
