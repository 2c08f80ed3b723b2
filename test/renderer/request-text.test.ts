import * as format from '../../renderer/text/format.ts';
import { expect, test } from 'vitest';
import { parseFallbackReason } from '#shared/reasons.ts';
import {
  amountOf,
  appName,
  labelsOf,
  outcomeWords,
  usageText,
  whatOf,
  whoOf,
  whyOf,
} from '../../renderer/features/requests/request-text.ts';
import { hashOf, routeOf } from '../../renderer/route.ts';
import { reasonText } from '../../renderer/text/reason-text.ts';
import { attempt, request, upstream } from './builders.ts';

const upstreams = [upstream('local'), upstream('hosted_a')];
const labels = labelsOf(upstreams);

test.each([
  [0, '0 ms'],
  [312.4, '312 ms'],
  [999.6, '1.0 s'],
  [2_900, '2.9 s'],
  [9_960, '10 s'],
  [43_000, '43 s'],
  [125_000, '2 min 05 s'],
  [3_840_000, '1 h 04 min'],
  [4.5 * 86_400_000, '4 days'],
])('a duration of %d ms is shown as %s', (ms, text) => {
  expect(format.formatDuration(ms)).toBe(text);
});

test.each([
  [250, '250 ms'],
  [2_500, '2.5 s'],
  [8_000, '8 s'],
  [60_000, '1 min'],
  [90_000, '1 min 30 s'],
  [3_600_000, '1 h'],
])('a chosen duration of %d ms is shown as %s', (ms, text) => {
  expect(format.formatSpan(ms)).toBe(text);
});

test('a status is named in words, and an unknown reason is shown as it is', () => {
  expect(reasonText('http_503')).toBe('HTTP 503');
  expect(reasonText('socket hang up')).toBe('socket hang up');
});

test('the fallback header is read entry by entry, machines of local included', () => {
  expect(parseFallbackReason('none')).toEqual([]);
  expect(parseFallbackReason('local/prv_1=timeout; hosted_a=http_503')).toEqual([
    { upstream: 'local', provider: 'prv_1', reason: 'timeout' },
    { upstream: 'hosted_a', provider: null, reason: 'http_503' },
  ]);
});

test('a fallback names each upstream that was left, by the user’s label, and the reason', () => {
  const row = request('a', { fallbackReason: 'local=timeout; hosted_a=http_503' });
  expect(whyOf(row, labels)).toBe('Local timed out; Groq answered HTTP 503');
  const own = new Map([...labels, ['local', 'Your GPUs']]);
  const both = request('c', { fallbackReason: 'hosted_a=timeout; local=no_provider' });
  expect(whyOf(both, own)).toBe('Groq timed out; your GPUs were down');
  const skipped = request('b', { fallbackReason: 'local=circuit_open; hosted_a=circuit_open' });
  const why = whyOf(skipped, labels);
  expect(why).toBe('Local was paused (failing or slow); Groq was paused (failing or slow)');
  expect(whyOf(request('a'), labels)).toBeNull();
});

test('a running request names the upstream that is being called', () => {
  const attempts = [attempt({ endMs: 4, reason: 'timeout' }), attempt({ upstream: 'hosted_a' })];
  const row = request('a', { state: 'running', upstream: null, attempts });
  expect(whoOf(row, labels)).toBe('Groq');
  expect(whoOf({ ...row, state: 'failed' }, labels)).toBe('No answer');
  expect(whoOf({ ...row, attempts: [] }, labels)).toBe('choosing');
});

test('a running request is shown as answering from its first token on', () => {
  const running = { state: 'running', endMs: null } as const;
  expect(outcomeWords(request('a', { ...running, attempts: [attempt()] }), 0).word).toBe('waiting');
  const attempts = [attempt({ firstContentMs: 3 })];
  expect(outcomeWords(request('a', { ...running, attempts }), 0).word).toBe('answering');
});

const TOKENS = { input: 12, output: 51, cached: 0, estimated: false };
const TIMES = { firstContentMs: 500, lastContentMs: 2500, endMs: 2600 };
const STREAMED = attempt({ tokens: TOKENS, ...TIMES });

test('only a streamed answer shows a number of tokens', () => {
  expect(amountOf(request('a', { events: 1_200 }))).toBe('≈ 1,200 tokens');
  expect(amountOf(request('a', { events: 0, stream: false }))).toBe('not streamed');
  expect(amountOf(request('a', { events: 0, state: 'running' }))).toBe('');
  const amount = amountOf(request('a', { events: 52, tokens: TOKENS, attempts: [STREAMED] }));
  expect(amount).toBe('51 tokens · 25 tokens/s');
});

test.each([
  '#/',
  '#/requests',
  '#/requests/failed',
  '#/requests/fell-back',
  '#/settings',
  '#/settings/hosted_a',
  '#/settings/routing',
])('the address %s leads to itself', (hash) => {
  expect(hashOf(routeOf(hash))).toBe(hash);
});

test('an unknown address leads to the overview, and an unknown filter to all requests', () => {
  expect(routeOf('#/elsewhere')).toEqual({ page: 'overview' });
  expect(routeOf('#/settings/no-such')).toEqual({ page: 'settings', section: null });
  expect(routeOf('#/requests?odd=1')).toEqual({ page: 'requests', filter: 'all' });
});

test.each([
  ['OpenAI/Python 1.40.0', 'OpenAI Python'],
  ['AsyncOpenAI/JS 4.2.1', 'AsyncOpenAI JS'],
  ['curl/8.5.0', 'curl'],
  ['claude-cli/1.0.33 (external, cli)', 'claude-cli'],
  ['python-requests/2.32.3', 'python-requests'],
  ['ai-sdk/openai/4.0.118 runtime/node.js/v24', 'ai-sdk openai'],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0', 'a browser'],
  ['node', 'node'],
  ['(odd)', '(odd)'],
])('an app that calls itself %s is shown as %s', (userAgent, name) => {
  expect(appName({ caller: { key: null, address: null, userAgent } })).toBe(name);
});

test('a request is shown with the name of its key, and with the model that answered if it named none', () => {
  const attempts = [attempt({ model: 'qwen3', firstContentMs: 100, endMs: 300 })];
  const row = request('a', { model: null, key: 'Open WebUI', attempts });
  expect(whatOf(row)).toEqual({ model: 'qwen3', app: 'Open WebUI' });
});

test('the tokens of a call are shown with their rate from the first to the last', () => {
  expect(usageText(STREAMED)).toBe('12 tokens in, 51 out · 25 tokens/s');
});

test('the tokens of a call have no rate if the answer came whole, and are marked if estimated', () => {
  const whole = attempt({ tokens: { ...TOKENS, estimated: true }, endMs: 2600 });
  expect(usageText(whole)).toBe('≈ 12 tokens in, 51 out');
  expect(usageText(attempt())).toBe(null);
});

test('the tokens of a call include those that were read again, and why, and so does the list', () => {
  const reading = { why: 'reminder', again: 38_000, message: 3 } as const;
  const read = attempt({ tokens: { ...TOKENS, input: 42_000 }, endMs: 2600, reading });
  const text = '38,000 tokens read again: system reminder changed (message 3)';
  expect(usageText(read)).toBe(`42,000 tokens in, 51 out · ${text}`);
  expect(whyOf(request('a', { attempts: [read] }), labels)).toBe(text);
  const first = attempt({ ...read, reading: { why: 'first_turn', again: 0, message: null } });
  expect(usageText(first)).toBe('42,000 tokens in, 51 out · first turn');
  expect(whyOf(request('a', { attempts: [first] }), labels)).toBeNull();
});

test('the tokens of a call include those found in a cache', () => {
  const found = { ...TOKENS, input: 41_900, cached: 41_200 };
  const whole = { tokens: found, endMs: 2600 };
  const usage = usageText(attempt({ ...whole, provider: 'prv_aaaa1111', machine: 'tower' }));
  expect(usage).toBe('41,900 tokens in, 51 out · 41,200 of 41,900 tokens from its cache');
  expect(usageText(attempt({ ...whole, isHashFixed: true, repairedCalls: 2 }))).toBe(
    '41,900 tokens in, 51 out · 41,200 of 41,900 tokens from its cache · cch in its prompt held constant · 2 tool calls repaired',
  );
});
