import { expect, test } from 'vitest';
import { FakeEvent } from './fake-electron.ts';
import { createFakeHost } from './fixtures.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';
import { settle, startDesktop } from './harness.ts';

test('a quit waits for running requests, then ends with 0', async () => {
  const { app, host, tray } = await startDesktop();
  app.quit();
  await settle();
  expect(host.calls).toEqual(['start', 'stop']);
  expect(app.calls.some((call) => call.startsWith('exit'))).toBe(false);
  host.finishStop();
  await settle();
  expect(app.calls.at(-1)).toBe('exit 0');
  expect(tray().removed).toBe(true);
});

test('a quit says in the tray what it waits for, and how to stop waiting', async () => {
  const host = createFakeHost({ inFlight: { local: 2 } });
  const { app, tray, choose } = await startDesktop({ host });
  await choose('Quit');
  expect(tray().menu.labels[0]).toBe('Quitting when running requests have finished');
  expect(tray().tooltips.at(-1)).toBe('Inglenook: Quitting · 2 in flight');
  tray().menu.click('Quit now');
  expect(app.calls.at(-1)).toBe('exit 0');
});

test('a quit before the gateway runs waits for nothing', async () => {
  const { app } = await startDesktop({
    prepare: (fake) => {
      fake.app.whenReady = () => Promise.resolve(fake.app.quit());
    },
  });
  expect(app.calls).toContain('exit 0');
});

test('the end of the session does not wait for a running request: state is saved, and two seconds later the app ends', async () => {
  const { app, host, clock, power } = await startDesktop();
  expect(power.shutDown()).toBe(true);
  expect(host.calls).toEqual(['start', 'stop within 1500']);
  clock.advance(1999);
  await settle();
  expect(app.calls.some((call) => call.startsWith('exit'))).toBe(false);
  clock.advance(1);
  await settle();
  expect(app.calls.at(-1)).toBe('exit 0');
});

test('a host that has stopped, or could not start, has freed its data directory', async () => {
  const calls: string[] = [];
  const lockOf = (name: string) => ({
    listensAt: (url: string) => void calls.push(`${name} at ${url}`),
    release: () => void calls.push(`${name} freed`),
  });
  const first = await startWindowHost(NO_AGENT, undefined, { lock: lockOf('first') });
  const { origin, port } = new URL(first.controlLink());
  const environment = { ...NO_AGENT, INGLENOOK_PORT: port };
  await expect(startWindowHost(environment, undefined, { lock: lockOf('second') })).rejects.toThrow(
    'is taken',
  );
  await first.stop(0);
  expect(calls).toEqual([`first at ${origin}`, 'second freed', 'first freed']);
});

test('the end of the session lets the system quit the app: preventing that would cancel the logout on macOS', async () => {
  const { app, power } = await startDesktop();
  power.shutDown();
  const event = new FakeEvent();
  app.emit('before-quit', event);
  expect(event.prevented).toBe(false);
});

test('the end of the session ends a running quit at once that still waits for requests', async () => {
  const { app, host, power } = await startDesktop();
  app.quit();
  power.shutDown();
  expect(host.calls).toEqual(['start', 'stop', 'stop within 1500']);
  host.finishStop();
  await settle();
  expect(app.calls.at(-1)).toBe('exit 0');
});

test('the end of the session reaches the app on Windows even if no window was opened', async () => {
  const scene = { platform: 'win32', isHidden: true } as const;
  const { host, windows, sessionWindows } = await startDesktop(scene);
  expect(windows).toEqual([]);
  expect(sessionWindows).toHaveLength(1);
  sessionWindows[0]?.emit('session-end');
  expect(host.calls).toEqual(['start', 'stop within 1500']);
  expect((await startDesktop({ platform: 'darwin' })).sessionWindows).toEqual([]);
});

test('the end of the session comes as a signal too, which Electron would take for a quit that waits', async () => {
  const { host, app, terminate } = await startDesktop();
  terminate();
  expect(host.calls).toEqual(['start', 'stop within 1500']);
  host.finishStop();
  await settle();
  expect(app.calls.at(-1)).toBe('exit 0');
});
