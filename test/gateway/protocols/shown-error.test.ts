import { expect, test } from 'vitest';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { readErrorBody, shownError } from '../../../main/gateway/protocols/upstream-error.ts';
import { classify } from '../../../main/gateway/upstream/failure.ts';

function shown(message: string, content: string): string {
  const body = Buffer.from(JSON.stringify({ error: { message } }));
  const failure = classify(
    { kind: 'status', status: 400, headers: {}, body, error: readErrorBody(body) },
    { upstream: 'hosted_a', request: { endpoint: CHAT_COMPLETIONS } },
    0,
  );
  // As Python's and PHP's encoders write it.
  const sent = JSON.stringify({ model: 'qwen3', messages: [{ role: 'user', content }] })
    .replaceAll('/', '\\/')
    .replaceAll(
      /[^\x20-\x7e]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  return shownError(failure, Buffer.from(sent));
}

test('an upstream’s own words are shown with its status', () => {
  const named = shown("The model 'qwen3' does not exist", 'Hi');
  expect(named).toBe("HTTP 400: The model 'qwen3' does not exist");
});

test.each([
  ['with quotes', 'My "secret" plan:\nbuy the moon before breakfast'],
  ['in Cyrillic', 'Секретный план покупки луны'],
  ['of short lines', 'pin 48213\nuser bobby\ncity rome'],
  ['with slashes', 'open /etc/shadow/of/the/moon'],
  ['with doubled blanks', 'buy  the  moon  before  breakfast'],
])('an upstream message that repeats a prompt %s is not shown', (_how, prompt) => {
  const repeated = shown(`prompt too long: ${prompt}`, prompt);
  expect(repeated).toBe('HTTP 400: (repeats the request, not shown)');
});

test('an error shows [secret] in place of what looks like a key', () => {
  expect(shown('No such key: sk-live-0123456789', 'Hi')).toBe('HTTP 400: No such key: [secret]');
});

test('an error shows at most 300 characters of an upstream’s words', () => {
  expect(shown('no '.repeat(1_000), 'Hi').length).toBeLessThan(320);
});
