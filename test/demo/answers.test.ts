import { expect, test } from 'vitest';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { cannedAnswer, partialIn, restOfAnswer } from '../../main/demo/engine.ts';

test('every demo upstream continues the partial answer of any other, to its end', () => {
  for (const giver of UPSTREAM_IDS) {
    const whole = cannedAnswer(giver);
    const partial = whole.slice(0, 80);
    for (const carrier of UPSTREAM_IDS)
      expect(partial + restOfAnswer(carrier, partial)).toBe(whole);
  }
});

test('an upstream gives its own answer for no text, and for a text that no demo upstream wrote', () => {
  expect(restOfAnswer('hosted_b', 'Once upon a time')).toBe(cannedAnswer('hosted_b'));
  expect(restOfAnswer('hosted_b', '')).toBe(cannedAnswer('hosted_b'));
});

test('an engine continues only if asked to, and only an answer of the assistant', () => {
  const partialAfter = (last: object, more: object = {}) =>
    partialIn({ messages: [{ role: 'user', content: 'hi' }, last], ...more });
  const partial = { role: 'assistant', content: 'This is' };
  const continued = { continue_final_message: true };
  expect(partialAfter(partial, continued)).toBe('This is');
  expect(partialAfter(partial)).toBe('');
  expect(partialAfter({ role: 'user', content: 'more' }, continued)).toBe('');
  expect(partialIn(undefined)).toBe('');
});
