import { expect, test } from 'vitest';
import { parseVisible, visible } from '#shared/visible.ts';

/** Clears a terminal, forges a line, and reads as `exe.gnp` turned round. */
const NAME = 'tower\u001b[2J\nroot: ok\u202Egnp.exe\u0085\u2066';
const SEEN = 'tower⟨U+001B⟩[2J⟨U+000A⟩root: ok⟨U+202E⟩gnp.exe⟨U+0085⟩⟨U+2066⟩';

test('control and direction characters of a name are shown as their codes', () => {
  expect(visible(NAME)).toBe(SEEN);
  expect(visible('\u{E0041}\u200B\uFEFF')).toBe('⟨U+E0041⟩⟨U+200B⟩⟨U+FEFF⟩');
});

test.each([
  ['as it is', JSON.stringify({ names: [NAME], n: 1 })],
  [
    'all in escapes',
    `{"names":["${Array.from(NAME, (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`).join('')}"],"n":1}`,
  ],
])('JSON for people is read with its hidden characters as their codes: %s', (_how, json) => {
  expect(parseVisible(json)).toEqual({ names: [SEEN], n: 1 });
});
