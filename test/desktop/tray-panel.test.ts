import { expect, test } from 'vitest';
import { createTrayPanel, type RunCommand } from '../../main/desktop/tray.ts';
import { type DesktopScene, settle, startDesktop } from './harness.ts';

/** Answers as dbus-send prints them; by the last word of the question. */
function bus(answers: Readonly<Record<string, string>>): RunCommand {
  return (_command, args) => {
    const answer = answers[args.at(-1)?.replace('string:', '') ?? ''];
    if (answer === undefined) return Promise.reject(new Error(`asked ${args.join(' ')}`));
    return Promise.resolve(`method return time=1 sender=:1.5 -> destination=:1.7\n   ${answer}\n`);
  };
}

const HOST = {
  'org.kde.StatusNotifierWatcher': 'boolean true',
  IsStatusNotifierHostRegistered: 'variant       boolean true',
};

test.each<[string, Readonly<Record<string, string>>, boolean]>([
  ['is there with a watcher and a host', HOST, true],
  [
    'is not there before the host is',
    { ...HOST, IsStatusNotifierHostRegistered: 'variant       boolean false' },
    false,
  ],
  ['is not there without a watcher', { 'org.kde.StatusNotifierWatcher': 'boolean false' }, false],
  ['is not there where nobody can be asked', {}, false],
])('a panel on Linux %s', async (_case, answers, isThere) => {
  expect(await createTrayPanel('linux', bus(answers))()).toBe(isThere);
});

/** Half a minute and more, with a turn for each answer. */
const HALF_MINUTE = 40;

async function started(panel: { isThere: boolean }, scene: DesktopScene = {}) {
  const desktop = await startDesktop({ panel, ...scene });
  const wait = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      desktop.clock.advance(1000);
      await settle();
    }
  };
  return { ...desktop, wait };
}

test('the icon is made again when its panel has come after it, as at login', async () => {
  const panel = { isThere: false };
  const { trays, tray, wait } = await started(panel);
  await wait(3);
  expect(trays).toHaveLength(1);
  panel.isThere = true;
  await wait(4);
  expect(trays).toHaveLength(2);
  expect(trays[0]?.removed).toBe(true);
  expect(tray().images).toEqual(trays[0]?.images);
  expect(tray().menu.item('Quit').label).toBe('Quit');
  await wait(HALF_MINUTE);
  expect(trays).toHaveLength(2);
});

test('an icon that never comes leaves a minimised window if the app was started hidden', async () => {
  const { windows, window, wait } = await started({ isThere: false }, { isHidden: true });
  await wait(30);
  expect(windows).toEqual([]);
  await wait(1);
  window().emit('ready-to-show');
  expect(window().state).toBe('minimized');
});

test('an icon that is shown leaves no window there', async () => {
  const { windows, wait } = await started({ isThere: true }, { isHidden: true });
  await wait(HALF_MINUTE);
  expect(windows).toEqual([]);
});

test('the icon is made again by a close that finds a panel for the first time', async () => {
  const panel = { isThere: false };
  const { trays, window, wait } = await started(panel);
  await wait(HALF_MINUTE);
  panel.isThere = true;
  for (let times = 0; times < 2; times++) {
    window().show();
    window().close();
    await settle();
    expect([trays.length, window().state]).toEqual([2, 'hidden']);
  }
});

test('no icon is made again once the app quits', async () => {
  const panel = { isThere: false };
  const { app, host, trays, wait } = await started(panel);
  app.quit();
  host.finishStop();
  await settle();
  panel.isThere = true;
  await wait(HALF_MINUTE);
  expect(trays.map(({ removed }) => removed)).toEqual([true]);
});
