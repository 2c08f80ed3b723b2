import { expect, test } from 'vitest';
import { hasTrayPanel } from '../../main/desktop/tray.ts';

const refuse = (): Promise<string> => Promise.reject(new Error('asked'));

test.each([
  ['a panel is there', () => Promise.resolve('method return …\n   boolean true\n'), true],
  ['no panel is there', () => Promise.resolve('method return …\n   boolean false\n'), false],
  ['nobody can be asked', refuse, false],
])('Linux shows tray icons when the session bus says so: %s', async (_case, ask, expected) => {
  expect(await hasTrayPanel('linux', ask)).toBe(expected);
});

test('macOS and Windows always show tray icons, and no command is run', async () => {
  expect(await hasTrayPanel('darwin', refuse)).toBe(true);
  expect(await hasTrayPanel('win32', refuse)).toBe(true);
});
