import { expect, test } from 'vitest';
import { createFakeHost } from './fixtures.ts';
import { memoryFile, settle, startDesktop } from './harness.ts';

test('sleep drains the machine before it, and afterwards the machine serves again and reads everything again', async () => {
  const preferences = memoryFile();
  const { host, power } = await startDesktop({ preferences });
  power.emit('suspend');
  expect(host.calls.at(-1)).toBe('machine drained');
  expect(preferences.now()).toMatchObject({ isDrainedForSleep: true });
  power.emit('resume');
  await settle();
  expect(host.calls.slice(-2)).toEqual(['machine on', 'resumed']);
  expect(preferences.now()).toMatchObject({ isDrainedForSleep: false });
});

test('sleep leaves a machine alone that its owner has paused', async () => {
  const { host, power } = await startDesktop({ host: createFakeHost({ machine: 'paused' }) });
  power.emit('suspend');
  power.emit('resume');
  await settle();
  expect(host.calls).toEqual(['start', 'resumed']);
});

test('a machine that was asleep at the end of the app is woken at the next start', async () => {
  const host = createFakeHost({ machine: 'draining' });
  const preferences = memoryFile({ isDrainedForSleep: true });
  await startDesktop({ host, preferences });
  await settle();
  expect(host.calls).toContain('machine on');
});
