import { expect, test } from 'vitest';
import { createFakeHost } from './fixtures.ts';
import { type DesktopScene, settle, startDesktop } from './harness.ts';

test('a second instance ends before it has started a gateway', async () => {
  const second = await startDesktop({ prepare: ({ app }) => void (app.isFirst = false) });
  expect(second.hostsMade()).toBe(0);
  expect(second.windows).toEqual([]);
  expect(second.trays).toEqual([]);
  expect(second.app.calls.at(-1)).toBe('quit');
});

test('a second instance opens the first one’s window and starts no gateway', async () => {
  const first = await startDesktop();
  first.window().hide();
  first.app.emit('second-instance', {}, ['inglenook']);
  expect(first.window().state).toBe('shown');
  expect(first.window().focused).toBe(1);
  expect(first.windows).toHaveLength(1);
  expect(first.hostsMade()).toBe(1);
});

test('a login while the app runs opens no window', async () => {
  const { app, window } = await startDesktop();
  window().hide();
  app.emit('second-instance', {}, ['inglenook', '--hidden']);
  expect(window().state).toBe('hidden');
});

test('a second instance while the app still starts hidden opens the window', async () => {
  const host = createFakeHost();
  const start = host.start.bind(host);
  const { windows } = await startDesktop({
    host,
    isHidden: true,
    prepare: ({ app }) => {
      host.start = () => {
        app.emit('second-instance', {}, ['inglenook']);
        return start();
      };
    },
  });
  expect(windows).toHaveLength(1);
});

test.each([
  ['as it was', []],
  ['with its action', ['--action=settings']],
])('a second instance while the app quits starts it again, once, %s', async (_how, args) => {
  const { app, host, windows } = await startDesktop({ args: ['--hidden'] });
  app.quit();
  for (let times = 0; times < 2; times++) app.emit('second-instance', {}, ['inglenook', ...args]);
  expect(windows).toHaveLength(1);
  host.finishStop();
  await settle();
  expect(app.calls.slice(-2)).toEqual([['relaunch', ...args].join(' '), 'exit 0']);
  expect(app.calls.filter((call) => call.startsWith('relaunch'))).toHaveLength(1);
});

test.each([
  ['in a running app', false],
  ['that start it', true],
])('the desktop entry’s action for the settings opens them %s', async (_where, isFirst) => {
  const args = ['--action=settings'];
  const desktop = await startDesktop(isFirst ? { args } : {});
  if (!isFirst) desktop.app.emit('second-instance', {}, ['inglenook', ...args]);
  await settle();
  expect(desktop.window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings');
});

test('the desktop entry’s action to quit ends a running app, and starts none', async () => {
  const { app, host } = await startDesktop();
  app.emit('second-instance', {}, ['inglenook', '--action=quit']);
  expect(host.calls).toEqual(['start', 'stop']);
  const none = await startDesktop({ args: ['--action=quit'] });
  expect([none.hostsMade(), none.app.calls.at(-1)]).toEqual([0, 'quit']);
});

test('every renderer is sandboxed, and draws without the GPU, before Electron is ready', async () => {
  expect((await startDesktop()).app.calls).toEqual(['sandbox', 'no GPU', 'lock', 'ready']);
});

const unwritable = () => {
  throw new Error("EACCES: permission denied, mkdir '/data/desktop'");
};
test.each<[string, DesktopScene]>([
  ['--no-sandbox', { prepare: ({ app }) => void app.switches.add('no-sandbox') }],
  ['ELECTRON_DISABLE_SANDBOX', { env: { ELECTRON_DISABLE_SANDBOX: '1' } }],
  ['/data/desktop', { claimData: unwritable }],
])(
  'a start that is refused for %s says so in a box that is seen, and starts nothing',
  async (name, scene) => {
    const { app, errors, hostsMade, windows } = await startDesktop(scene);
    expect(errors[0]?.content).toContain(name);
    expect(app.calls).toEqual(['ready', 'exit 1']);
    expect([hostsMade(), windows]).toEqual([0, []]);
  },
);

test('a gateway that cannot start says why in a box and leaves no tray behind', async () => {
  const host = createFakeHost({}, new Error('Port 47900 is taken by another program.'));
  const { app, boxes, trays, windows } = await startDesktop({ host });
  expect(boxes).toHaveLength(1);
  expect(boxes[0]?.detail).toContain('Port 47900 is taken by another program.');
  expect(trays).toEqual([]);
  expect(windows).toEqual([]);
  expect(app.calls.at(-1)).toBe('exit 1');
});

test('the app tries a failed start again after a minute, because nobody may be there', async () => {
  const host = createFakeHost();
  const start = host.start.bind(host);
  let starts = 0;
  const desktop = await startDesktop({
    host,
    isHeldUp: true,
    prepare: ({ seen }) => {
      seen.isOwnerAway = true;
      host.start = () =>
        ++starts < 2 ? Promise.reject(new Error('Port 47900 is taken.')) : start();
    },
  });
  await settle();
  desktop.clock.advance(60_000);
  await desktop.started;
  expect([starts, desktop.trays.length]).toEqual([2, 1]);
});

test('a start at login opens no window', async () => {
  const asked = await startDesktop({ isHidden: true });
  expect([asked.windows.length, asked.trays.length]).toEqual([0, 1]);
  // Only macOS starts an app at login without its switch, and the question takes time.
  expect((await startDesktop()).app.loginItemReads).toBe(0);
  const mac = await startDesktop({
    platform: 'darwin',
    prepare: ({ app }) => void (app.loginItem = { wasOpenedAtLogin: true }),
  });
  expect([mac.windows, mac.app.dockShown]).toEqual([[], false]);
});

test('the window opens with the tray already there', async () => {
  const { window, trays } = await startDesktop();
  await settle();
  expect(trays).toHaveLength(1);
  expect(window().state).toBe('hidden');
  window().emit('ready-to-show');
  expect(window().state).toBe('shown');
});

const elsewhere = 'http://127.0.0.1:47900/#code=0f';

test.each(['linux', 'win32'] as const)(
  'an app next to a gateway opens that one’s page in the browser and leaves no process behind (%s)',
  async (platform) => {
    const { windows, trays, openedOutside, app } = await startDesktop({ elsewhere, platform });
    expect([openedOutside, windows, trays]).toEqual([[elsewhere], [], []]);
    expect(app.calls.at(-1)).toBe('exit 0');
  },
);

test('an app started at login next to a running gateway ends at once', async () => {
  const { app, openedOutside } = await startDesktop({ elsewhere, isHidden: true });
  expect([openedOutside, app.calls.at(-1)]).toEqual([[], 'exit 0']);
});
