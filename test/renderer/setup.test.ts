import { expect, test } from 'vitest';
import type { UpstreamTest } from '#shared/live.ts';
import { labelFor, PRESETS } from '../../renderer/features/setup/hosted-form.tsx';
import { isShownBy, testWords } from '../../renderer/features/setup/upstream-test.tsx';
import { completeAddress } from '#shared/base-url.ts';
import { completeBaseUrl } from '../../renderer/text/address.ts';

test.each([
  ['127.0.0.1:11434', 'http://127.0.0.1:11434'],
  ['localhost:1234/v1', 'http://localhost:1234/v1'],
  ['[::1]:8080', 'http://[::1]:8080'],
  ['workstation:8000', 'http://workstation:8000'],
  ['localhosts.example.com/v1', 'https://localhosts.example.com/v1'],
  [' http://a.test ', 'http://a.test'],
  ['ftp://nowhere', 'ftp://nowhere'],
  ['soon', 'soon'],
  ['tower/v1', 'http://tower/v1'],
  ['tower.local:8000', 'http://tower.local:8000'],
  ['gpu.lan', 'http://gpu.lan'],
  ['api.local.example.com', 'https://api.local.example.com'],
  ['10.0.0.1.example.com', 'https://10.0.0.1.example.com'],
])('the typed address %s is completed to %s', (typed, meant) => {
  expect(completeAddress(typed)).toBe(meant);
});

test.each([
  ['api.example.com/v1/chat/completions', 'https://api.example.com/v1'],
  ['https://api.example.com/v1/', 'https://api.example.com/v1'],
  ['192.168.1.20:8000', 'http://192.168.1.20:8000'],
  ['192.168.1.20', 'http://192.168.1.20'],
  ['https://h.test/openai/chat/completions?api-version=1', 'https://h.test/openai?api-version=1'],
  ['soon', 'soon'],
  ['', ''],
])('the base URL typed as %s is completed to %s', (typed, meant) => {
  expect(completeBaseUrl(typed)).toBe(meant);
});

test('every preset has an address or an example of one, and a service says where its keys are', () => {
  for (const { name, baseUrl, example, key, keysAt } of PRESETS) {
    expect([name, URL.canParse(baseUrl ?? example)]).toEqual([name, true]);
    expect([name, keysAt !== '']).toEqual([name, key === 'needed']);
  }
  expect(new Set(PRESETS.map(({ name }) => name)).size).toBe(PRESETS.length);
});

test('an upstream is named after its service, and any other after its address', () => {
  const [service, program] = [PRESETS[0], PRESETS.find(({ baseUrl }) => baseUrl === null)];
  expect(service && labelFor(service, '')).toBe('OpenAI');
  expect(program && labelFor(program, 'http://tower:11434/v1')).toBe('tower:11434');
  expect(program && labelFor(program, 'https://api.example.com/v1')).toBe('api.example.com');
});

const passed: UpstreamTest = {
  ok: true,
  model: 'qwen3',
  provider: null,
  ttftMs: 120,
  totalMs: 412,
  promptTokens: 12,
  completionTokens: 8,
};

test('a passed test of an upstream shows model, times and tokens, and leaves out what is not known', () => {
  const words = (over: object = {}) =>
    testWords({ kind: 'ended', result: { ...passed, ...over } }).detail;
  expect(words()).toBe('qwen3 answered in 412 ms · first token 120 ms · 20 tokens');
  expect(words({ ttftMs: null, promptTokens: null })).toBe('qwen3 answered in 412 ms');
  expect(words({ model: null })).toMatch(/No model is set/);
});

test('a failed test of an upstream shows the upstream’s own words', () => {
  const result = { ok: false, reason: 'credentials', message: 'Bad key', totalMs: 9 } as const;
  const words = testWords({ kind: 'ended', result });
  expect(words).toMatchObject({ tone: 'red', word: 'Failed: key rejected.', detail: 'Bad key' });
});

test('a test that meets an engine which still loads its model says so, and what to expect', () => {
  const message = 'Loading model';
  const result = { ok: false, reason: 'starting', message, totalMs: 9 } as const;
  const { tone, word, detail, brief } = testWords({ kind: 'ended', result });
  expect([tone, word]).toEqual(['amber', 'Starting up.']);
  for (const text of [detail, brief]) expect(text).toMatch(/minutes.*[Tt]est again/);
});

test('the result of a test goes once its source is switched off, and stays with what it has changed', () => {
  expect(isShownBy(passed, { kind: 'zero-spend', by: 'switch' })).toBe(false);
  expect(isShownBy(passed, { kind: 'closed', isUnused: true })).toBe(true);
  const failed = { ok: false, reason: 'http_500', message: 'no', totalMs: 9 } as const;
  expect(isShownBy(failed, { kind: 'down', reason: 'http_500', by: 'check' })).toBe(true);
  expect(isShownBy(failed, { kind: 'untested' })).toBe(false);
});
