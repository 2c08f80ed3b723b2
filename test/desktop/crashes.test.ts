import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import type { FakeElectron } from './fake-electron.ts';
import { memoryFile, settle, startDesktop } from './harness.ts';

const MINUTE_MS = 60_000;

/** A file that remembers `count` crashes of the last minute. */
function crashesOf(count: number) {
  const now = createManualClock().now();
  const times = Array.from({ length: count }, (_, index) => now - index * 1000);
  return memoryFile({ times: times.toReversed(), untold: 'Error: no\n    at x' });
}

test('an uncaught error is written down, and the program starts again without waiting for anything', async () => {
  const crashes = memoryFile();
  const { app, crash, window, host } = await startDesktop({ crashes });
  window().emit('ready-to-show');
  crash(new Error('out of luck'));
  expect(app.calls.slice(-2)).toEqual(['relaunch', 'exit 1']);
  expect(crashes.now()).toMatchObject({ untold: expect.stringContaining('crashes') });
  expect(host.calls).toEqual(['start']);
});

test('a restart after an uncaught error brings back the tray alone if no window was open', async () => {
  const { app, crash } = await startDesktop({ isHidden: true });
  crash('no error at all');
  expect(app.calls.slice(-2)).toEqual(['relaunch --hidden', 'exit 1']);
});

test('a restart after an uncaught error keeps the folder that an unpacked app was started with', async () => {
  const args = ['/src/dist/desktop', '--action=settings'];
  const { app, crash, window } = await startDesktop({ args });
  window().emit('ready-to-show');
  crash(new Error('out of luck'));
  expect(app.calls.at(-2)).toBe('relaunch /src/dist/desktop');
});

test('an uncaught error is reported once, with its message, and is in the log', async () => {
  const crashes = crashesOf(1);
  const first = await startDesktop({ crashes });
  expect(first.notifications[0]?.options.body).toContain('Error: no');
  expect(first.logged).toContain('crashed');
  const second = await startDesktop({ crashes });
  expect(second.notifications).toEqual([]);
});

test('a start after three crashes in ten minutes says so and waits a minute, unless its owner starts it', async () => {
  const desktop = await startDesktop({
    crashes: crashesOf(3),
    isHeldUp: true,
    prepare: ({ seen }) => void (seen.isOwnerAway = true),
  });
  await settle();
  expect(desktop.hostsMade()).toBe(0);
  expect(desktop.boxes[0]?.detail).toContain('stopped 3 times within 10 minutes. Error: no');
  desktop.clock.advance(MINUTE_MS);
  await desktop.started;
  expect(desktop.hostsMade()).toBe(1);
  const started = {
    crashes: crashesOf(3),
    prepare: ({ seen }: FakeElectron) => void seen.clicks.push(0),
  };
  expect((await startDesktop(started)).hostsMade()).toBe(1);
});

test('a start after two crashes, or after three that are long ago, waits for nothing', async () => {
  expect((await startDesktop({ crashes: crashesOf(2) })).boxes).toEqual([]);
  const clock = createManualClock();
  clock.advance(11 * MINUTE_MS);
  expect((await startDesktop({ crashes: crashesOf(3), clock })).boxes).toEqual([]);
});
