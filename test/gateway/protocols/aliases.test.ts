import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { matches } from '../../../main/gateway/protocols/aliases.ts';

test.each([
  ['gpt-4o', 'gpt-*', true],
  ['gpt-', 'gpt-*', true],
  ['my-gpt-4o', 'gpt-*', false],
  ['claude-haiku-4-5', 'claude-*haiku*', true],
  ['claude-3-5-haiku-latest', 'claude-*haiku*', true],
  ['claude-opus', 'claude-*haiku*', false],
  ['aa', 'a*a', true],
  ['a', 'a*a', false],
  ['a.b', 'a?b', false],
  ['(x)', '(*)', true],
  ['anything', '*', true],
])('whether the name %s matches the alias pattern %s: %s', (name, pattern, fits) => {
  expect(matches(name, pattern)).toBe(fits);
});

test('a star in an alias matches any text, as in a regular expression', () => {
  const word = fc
    .array(fc.constantFrom('a', 'b', '.'), { maxLength: 8 })
    .map((all) => all.join(''));
  const parts = fc.array(word, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(word, parts, (name, all) => {
      const meant = new RegExp(`^${all.map((part) => part.replaceAll('.', '\\.')).join('.*')}$`);
      expect(matches(name, all.join('*'))).toBe(meant.test(name));
    }),
  );
});
