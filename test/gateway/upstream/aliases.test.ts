import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { matches } from '../../../main/gateway/upstream/upstreams.ts';

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
