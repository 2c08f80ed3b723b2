import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createManualClock } from '../support/clock.ts';
import { chat, startChat } from '../support/client.ts';
import { startIn } from '../support/gateway.ts';
import { answers, REFUSED_URL } from '../support/upstream.ts';
import { costly } from '../support/usage.ts';
import { at } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

/** What each costly answer costs so. */
const COST = 0.25;
const PRICED = { HOSTED_A_PRICE_OUTPUT: '1000' };

test('an upstream whose money budget is used up is skipped until the next day, and the next one serves', async () => {
  const { gateway, a, clock } = await startStill(
    { a: costly, b: answers('free') },
    { ...PRICED, HOSTED_A_BUDGET_DAY: '0.75' },
  );
  const reasons = [];
  for (let n = 0; n < 5; n += 1) reasons.push((await chat(gateway.url)).reason);
  expect(reasons).toEqual(['none', 'none', 'none', 'hosted_a=budget', 'hosted_a=budget']);
  expect(a.calls).toHaveLength(3);
  const { status } = gateway.host.snapshot();
  expect(status.upstreams[1]).toMatchObject({
    healthy: false,
    skips: [{ reason: 'budget' }],
    budget: { period: 'day', limit: 0.75, spent: 3 * COST },
  });
  clock.advance(Date.parse(status.upstreams[1]?.skips[0]?.until ?? '') - clock.now());
  expect((await chat(gateway.url)).upstream).toBe('hosted_a');
  expect(gateway.host.snapshot().status.upstreams[1]?.budget?.spent).toBe(COST);
});

test('a caller whose only upstream is out of money budget gets a 503, and never a 402', async () => {
  const { gateway } = await startBefore({ a: costly }, { ...PRICED, HOSTED_A_BUDGET_MONTH: '0.2' });
  await chat(gateway.url);
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({ status: 503, upstream: 'none' });
  expect(answer.reason).toContain('hosted_a=budget');
  expect(answer.text).toContain('had no budget left');
  expect(gateway.host.snapshot().status.ok).toBe(false);
});

test('a money budget is exceeded only by what was running when it was reached', async () => {
  const RUNNING = 5;
  const held: (() => void)[] = [];
  const { gateway, a } = await startBefore(
    { a: (call) => void held.push(() => costly(call)) },
    { ...PRICED, HOSTED_A_BUDGET_DAY: `${COST}` },
  );
  const pending = Array.from({ length: RUNNING }, () => startChat(gateway.url));
  await a.call(RUNNING);
  held[0]?.();
  await Promise.race(pending.map(({ answer }) => answer));
  for (let n = 0; n < 3; n += 1) expect((await chat(gateway.url)).status).toBe(503);
  for (const release of held.slice(1)) release();
  for (const { answer } of pending) expect((await answer).status).toBe(200);
  expect(a.calls).toHaveLength(RUNNING);
});

test('the log warns of a money budget once at 80 %, and again when it is used up', async () => {
  const lines: string[] = [];
  const { gateway } = await startBefore(
    { a: costly },
    { ...PRICED, HOSTED_A_BUDGET_DAY: '1.3', HOSTED_A_BUDGET_MONTH: '100' },
    createManualClock(),
    (_level, name, details) => void lines.push(`${name} ${String(details?.['period'] ?? '')}`),
  );
  const told = () => lines.filter((line) => line.startsWith('budget'));
  for (let n = 0; n < 4; n += 1) await chat(gateway.url);
  expect(told()).toEqual([]);
  await chat(gateway.url);
  expect(told()).toEqual(['budget_nearly_spent day']);
  for (let n = 0; n < 3; n += 1) await chat(gateway.url);
  expect(told()).toEqual(['budget_nearly_spent day', 'budget_spent day']);
});

test('the use of a money budget outlasts a restart, even if the clock is wrong at the start and put right later', async () => {
  const settings = { ...PRICED, HOSTED_A_BUDGET_MONTH: `${2 * COST}` };
  const { gateway, a } = await startBefore({ a: costly }, settings);
  for (let n = 0; n < 2; n += 1) await chat(gateway.url);
  await gateway.host.stop();
  const startAgain = (clock = systemClock) =>
    startIn(gateway.dataDirectory, { HOSTED_A_BASE_URL: a.url, ...settings }, clock);
  const second = await startAgain();
  expect((await chat(second.url)).status).toBe(503);
  expect(a.calls).toHaveLength(2);
  await second.host.stop();
  // A machine without a battery for its clock starts at 1970 or at its last shutdown.
  let behindMs = 3650 * 86_400_000;
  const { url } = await startAgain({ ...systemClock, now: () => Date.now() - behindMs });
  expect((await chat(url)).status).toBe(200);
  behindMs = 0;
  expect((await chat(url)).status).toBe(503);
  expect(a.calls).toHaveLength(3);
});

test('an ondemand whose money budget is used up is not started', async () => {
  const { gateway, ondemand } = await startBefore(
    { ondemand: costly },
    { ...at({ local: REFUSED_URL }), ONDEMAND_PRICE_OUTPUT: '1000', ONDEMAND_BUDGET_DAY: '0' },
  );
  expect((await chat(gateway.url)).reason).toContain('ondemand=budget');
  expect([ondemand.calls.length, ondemand.gets.length]).toEqual([0, 0]);
  expect(gateway.host.snapshot().status.ondemand_warmup).toBe('idle');
});
