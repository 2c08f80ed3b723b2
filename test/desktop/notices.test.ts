import { expect, test } from 'vitest';
import { noticesOf } from '../../main/desktop/owner-notices.ts';
import { factsOf, type Scene } from './fixtures.ts';
import { startDesktop } from './harness.ts';

const titles = (scene: Scene) => noticesOf(factsOf(scene)).map(({ title }) => title);

test.each<[string, Scene, string[]]>([
  [
    'of a refused key',
    { labels: { local: 'Your GPUs' }, skipped: { local: 'credentials' } },
    ['Your GPUs reject your key'],
  ],
  ['of a quota that is used up', { skipped: { hosted_b: 'quota' } }, ['Together is out of quota']],
  [
    'of a budget that is spent',
    { budgets: { hosted_a: { period: 'day', limit: 5, spent: 5.1 } } },
    ['Groq has spent its budget for the day'],
  ],
  [
    'of a budget that is nearly spent',
    { budgets: { hosted_a: { period: 'month', limit: 5, spent: 4 } } },
    ['Groq has spent 80% of its budget for the month'],
  ],
  ['of machines that failed verification', { failedMachines: 2 }, ['2 machines failed their test']],
  [
    'when nothing can serve',
    { ok: false, configured: ['local'], localHealth: 'unavailable' },
    ['No model is available'],
  ],
])('the owner is notified %s', (_of, scene, expected) => {
  expect(titles(scene)).toEqual(expected);
});

test.each<[string, Scene]>([
  ['a rate limit or a busy upstream', { skipped: { hosted_a: 'rate_limited', hosted_b: 'busy' } }],
  ['one upstream of several', { open: ['local'] }],
  ['a pause by the owner', { ok: false, configured: ['local'], machine: 'paused' }],
  ['zero-spend without Local', { ok: false, forceZero: true, configured: ['hosted_a'] }],
  ['a budget of nothing', { budgets: { hosted_a: { period: 'day', limit: 0, spent: 0 } } }],
  [
    'a budget while no money may be spent',
    { forceZero: true, budgets: { hosted_a: { period: 'day', limit: 5, spent: 5 } } },
  ],
  [
    'a budget of what is not set up',
    { configured: ['local'], budgets: { hosted_a: { period: 'day', limit: 5, spent: 5 } } },
  ],
  ['a program that is not set up yet', { ok: false, configured: [] }],
])('the owner is not notified of %s', (_what, scene) => {
  expect(titles(scene)).toEqual([]);
});

const REFUSED: Scene = { skipped: { hosted_a: 'credentials' } };

test('a notification comes when its cause has lasted, and its button helps', async () => {
  const { clock, host, notifications, window } = await startDesktop();
  host.change(REFUSED);
  clock.advance(29_999);
  expect(notifications).toEqual([]);
  clock.advance(1);
  const [notification] = notifications;
  expect(notification?.isShown).toBe(true);
  expect(notification?.options).toMatchObject({
    title: 'Groq rejects your key',
    actions: [{ type: 'button', text: 'Open its settings' }],
  });
  notification?.emit('action');
  expect(window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings/hosted_a');
});

test('a notification of a budget comes once at 80 %, once when it is spent, and again for the next month', async () => {
  const { clock, host, notifications, window } = await startDesktop();
  const spend = (spent: number) => {
    host.change({ budgets: { hosted_a: { period: 'month', limit: 10, spent } } });
    clock.advance(60_000);
  };
  for (const spent of [7, 8, 8.5, 9.9, 10, 10.2, 10.2]) spend(spent);
  const told = () => notifications.map(({ options }) => options.title);
  const once = [
    'Groq has spent 80% of its budget for the month',
    'Groq has spent its budget for the month',
  ];
  expect(told()).toEqual(once);
  notifications[1]?.emit('action');
  expect(window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings/hosted_a');
  spend(0);
  clock.advance(700_000);
  for (const spent of [1, 8, 12]) spend(spent);
  expect(told()).toEqual([...once, ...once]);
});

test('a notification comes once while its cause lasts, and not again when it flickers', async () => {
  const { clock, host, notifications } = await startDesktop();
  for (let minute = 0; minute < 30; minute++) {
    host.change(minute % 3 === 2 ? {} : REFUSED);
    clock.advance(60_000);
  }
  expect(notifications).toHaveLength(1);
});

test('a notification names the keys that the keychain does not open, at once', async () => {
  const { notifications, window } = await startDesktop({ lostKeys: ['hosted_a.apiKey'] });
  expect(notifications[0]?.options.body).toContain('hosted_a.apiKey');
  notifications[0]?.emit('click');
  expect(window().loaded.at(-1)).toMatch(/#\/settings$/);
});
