import { expect, test } from 'vitest';
import { followSleep } from '../../main/desktop/power.ts';
import { createPreferences } from '../../main/desktop/preferences.ts';
import { silentLog } from '../../main/platform/log.ts';
import { memoryFile } from '../desktop/harness.ts';
import { chat, expectServed, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { createFakeElectron } from '../desktop/fake-electron.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { turns } from '../support/report.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

/** Wakes the computer of a gateway, as Electron tells of it. */
function wake({ host }: TestGateway): void {
  const { electron, power } = createFakeElectron();
  const preferences = createPreferences(memoryFile());
  followSleep({ electron, host, preferences, log: silentLog });
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

test('an open circuit is checked as soon as the computer wakes, and never by a completion', async () => {
  const clock = createManualClock();
  const [up, other] = [await startUpstream(error(503)), await startUpstream(answers('other'))];
  const urls = at({ hosted_a: up.url, hosted_c: other.url });
  const gateway = await startGateway({ ...urls, FAIL_THRESHOLD: '1' }, clock);
  await chat(gateway.url);
  up.answerGet = ({ res }) => void res.writeHead(200).end('{}');
  wake(gateway);
  clock.advance(0);
  await turns(gateway, 3);
  expect(up.gets.map(({ path }) => path)).toEqual(['/models']);
  expect(up.calls).toHaveLength(1);
  expect(gateway.host.snapshot().status.circuits['hosted_a']).toMatchObject({
    cooldownRemainingMs: 0,
  });
});
