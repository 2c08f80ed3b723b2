import { expect, test } from 'vitest';
import { millisecondsUntil } from '../support/at-once.ts';
import { chat } from '../support/client.ts';
import { expectError } from '../support/http.ts';
import { startRuledHost, type RuledHost } from '../support/ruled-host.ts';

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

test('a changed owner rule takes effect in list and routing at once, without waiting for a heartbeat', async () => {
  const host = await startRuledHost({ hostActivity: { isOnBattery: () => Promise.resolve(true) } });
  await follows(host, { notOnBattery: true }, HELD);
  expect((await host.view()).owner).toMatchObject({
    choice: 'on',
    mode: 'paused',
    rules: { notOnBattery: true },
    reasons: [expect.stringMatching(/on battery/)],
  });
  await follows(host, { notOnBattery: null }, SERVES);
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
