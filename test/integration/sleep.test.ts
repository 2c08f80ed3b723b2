import { expect, test } from 'vitest';
import { followSleep } from '../../main/desktop/power.ts';
import { createPreferences } from '../../main/desktop/preferences.ts';
import { memoryFile } from '../desktop/harness.ts';
import { chat, expectServed, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { createFakeElectron } from '../desktop/fake-electron.ts';
import type { TestGateway } from '../support/gateway.ts';
import { circuitOf, turns } from '../support/report.ts';
import { answers, error, hang, json } from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';

/** Wakes the computer of a gateway, as Electron tells of it. */
function wake({ host }: TestGateway): void {
  const { electron, power } = createFakeElectron();
  const preferences = createPreferences(memoryFile());
  followSleep({ electron, preferences }, host);
  power.emit('resume');
}

test('a connection that was idle during a sleep is closed and not used again, and a running request continues', async () => {
  const { gateway, a } = await startBefore({ a: [hang, answers('well')] });
  const running = startChat(gateway.url);
  const slow = await a.call(1);
  await chat(gateway.url);
  const kept = await a.call(2);
  expect(kept.connection).not.toBe(slow.connection);
  wake(gateway);
  expectServed(await chat(gateway.url), 'hosted_a');
  const { connection } = await a.call(3);
  expect([slow.connection, kept.connection]).not.toContain(connection);
  await kept.gone;
  await answers('still there')(slow);
  expectServed(await running.answer, 'hosted_a');
});

test('a gateway without its agent and without a desktop finds out by itself that it has slept', async () => {
  const clock = createManualClock();
  let sleptMs = 0;
  const sleepy = { ...clock, now: () => clock.now() + sleptMs };
  const { url, a } = await startBefore({ a: answers('well') }, {}, sleepy);
  await chat(url);
  clock.advance(5000);
  await chat(url);
  sleptMs = 60_000;
  clock.advance(5000);
  await chat(url);
  expect(a.calls.map(({ connection }) => connection)).toEqual([1, 1, 2]);
});

test('an open circuit is checked as soon as the computer wakes, and never by a completion', async () => {
  const { gateway, a, clock } = await startStill(
    { a: { script: error(503), get: json(200, {}) }, c: answers('other') },
    { FAIL_THRESHOLD: '1' },
  );
  await chat(gateway.url);
  wake(gateway);
  clock.advance(0);
  await turns(gateway, 3);
  expect(a.gets.map(({ path }) => path)).toEqual(['/models']);
  expect(a.calls).toHaveLength(1);
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ cooldownRemainingMs: 0 });
});
