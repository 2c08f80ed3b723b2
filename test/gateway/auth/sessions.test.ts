import { expect, test } from 'vitest';
import { createBrowsers, createSessions } from '../../../main/gateway/auth/sessions.ts';
import { createManualClock } from '../../support/clock.ts';

/** A disk that both runs see. */
function disk() {
  let content = '';
  return {
    read: () => content,
    keep: (save: () => unknown) => ({
      load: () => (content === '' ? null : (JSON.parse(content) as unknown)),
      changed() {
        content = JSON.stringify(save());
      },
      flush: () => Promise.resolve(),
    }),
  };
}

test('a remembered browser keeps owner access across a restart, and its token is nowhere on disk', async () => {
  const clock = createManualClock();
  const { keep, read } = disk();
  const { token } = await createBrowsers(clock, keep).remember('Firefox on the laptop');
  const after = createBrowsers(clock, keep);
  expect(after.isRemembered(token)).toBe(true);
  expect(after.isRemembered(token.replace(/^./, 'x'))).toBe(false);
  expect(after.list().map(({ name }) => name)).toEqual(['Firefox on the laptop']);
  expect(read()).not.toContain(token);
});

test('a browser that is not used for 90 days is forgotten', async () => {
  const clock = createManualClock();
  const { keep } = disk();
  const browsers = createBrowsers(clock, keep);
  const { token } = await browsers.remember('Firefox');
  const day = 86_400_000;
  clock.advance(89 * day);
  expect(browsers.isRemembered(token)).toBe(true);
  clock.advance(89 * day);
  expect(browsers.isRemembered(token)).toBe(true);
  clock.advance(91 * day);
  expect(browsers.isRemembered(token)).toBe(false);
  expect(browsers.list()).toEqual([]);
});

test('a sign-in code can be used for ten minutes', async () => {
  const clock = createManualClock();
  const sessions = createSessions(clock, disk().keep);
  const [inTime, late] = [sessions.newCode(), sessions.newCode()];
  clock.advance(10 * 60_000 - 1);
  expect(await sessions.redeem(inTime)).not.toBeNull();
  clock.advance(1);
  expect(await sessions.redeem(late)).toBeNull();
});

test('a session outlives a restart for a week, and neither its token nor its code is on disk', async () => {
  const clock = createManualClock();
  const { keep, read } = disk();
  const before = createSessions(clock, keep);
  const code = before.newCode();
  const token = (await before.redeem(code)) ?? '';
  expect(await before.redeem(code)).toBeNull();
  const after = createSessions(clock, keep);
  const known = [after.isSession(token), after.isSession(token.replace(/^./, 'x'))];
  expect(known).toEqual([true, false]);
  expect(await after.redeem(code)).toBeNull();
  for (const secret of [token, code]) expect(read()).not.toContain(secret);
  clock.advance(7 * 86_400_000 - 1);
  expect(after.isSession(token)).toBe(true);
  clock.advance(1);
  expect(after.isSession(token)).toBe(false);
});

test('the sign-in code of the demo works as often as its link is opened', async () => {
  const sessions = createSessions(createManualClock(), disk().keep, { reusesCodes: true });
  const code = sessions.newCode();
  const [first, second] = [await sessions.redeem(code), await sessions.redeem(code)];
  expect(first).not.toBe(second);
  for (const token of [first, second]) expect(sessions.isSession(token ?? '')).toBe(true);
});

test('a forgotten browser has no owner access, even after a restart', async () => {
  const clock = createManualClock();
  const { keep } = disk();
  const browsers = createBrowsers(clock, keep);
  const { id, token } = await browsers.remember('Firefox');
  expect(await browsers.forget(id)).toBe(true);
  expect(await browsers.forget(id)).toBe(false);
  expect(browsers.isRemembered(token)).toBe(false);
  expect(createBrowsers(clock, keep).isRemembered(token)).toBe(false);
});

test('a session file that cannot be read gives no owner access', () => {
  const keep = () => ({
    load: () => ({ version: 1, browsers: [{ id: 'x' }] }),
    changed() {},
    flush: () => Promise.resolve(),
  });
  expect(createBrowsers(createManualClock(), keep).list()).toEqual([]);
});
