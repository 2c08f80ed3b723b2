import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { startRuledHost } from '../support/ruled-host.ts';

const HELD = ['paused', 'hosted_a', 'local=paused'];
const SERVES = ['idle', 'local', 'none'];

/** Changes a rule, until the list and routing say this of the machine. */
async function follows(
  host: Awaited<ReturnType<typeof startRuledHost>>,
  rule: object,
  standing: readonly string[],
): Promise<void> {
  expect((await host.patch(rule)).status).toBe(200);
  await expect.poll(() => host.status(), { interval: 20 }).toBe(standing[0]);
  const { upstream, reason } = await chat(host.url);
  expect([upstream, reason]).toEqual(standing.slice(1));
}

test('a changed owner rule takes effect in list and routing, and one that the environment sets is named', async () => {
  const host = await startRuledHost({
    settings: { AGENT_ONLY_WHEN_IDLE: 'true' },
    hostActivity: {
      isOnBattery: () => Promise.resolve(true),
      userIdleMs: () => Promise.resolve(3_600_000),
    },
  });
  await follows(host, { notOnBattery: true }, HELD);
  expect((await host.view()).owner).toMatchObject({
    choice: 'on',
    mode: 'paused',
    rules: { notOnBattery: true, onlyWhenIdle: true },
    heldRules: ['onlyWhenIdle'],
    reasons: [expect.stringMatching(/on battery/)],
  });
  await follows(host, { notOnBattery: null }, SERVES);
});
