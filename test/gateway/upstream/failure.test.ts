import { expect, test } from 'vitest';
import { wordsOnly } from '../../../main/gateway/protocols/upstream-error.ts';
import { classify, retryAfterMs } from '../../../main/gateway/upstream/failure.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each<[headers: Record<string, string>, ms: number | null]>([
  [{}, null],
  [{ 'retry-after': '' }, null],
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': '1.5' }, 1500],
  [{ 'retry-after': '-1' }, null],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'retry-after-ms': 'x', 'retry-after': '9' }, 9000],
  [{ 'retry-after-ms': '', 'retry-after': '9' }, 9000],
  [{ 'retry-after': '6m0s' }, 360_000],
  [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1.5s' }, 1500],
  [{ 'x-ratelimit-remaining-tokens': '7', 'x-ratelimit-reset-tokens': '1.5s' }, null],
  // github.com/Cerebras/cerebras-cloud-sdk-python: a limit of a day, in seconds.
  [{ 'x-ratelimit-remaining-requests-day': '0', 'x-ratelimit-reset-requests-day': '33.5' }, 33_500],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 + 44) }, 44_000],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 44_000) }, 44_000],
])('the headers %j ask for a wait of %j ms', (headers, ms) => {
  expect(retryAfterMs(headers, { retryAfterMs: null, headers: {}, message: '' }, NOW)).toBe(ms);
});

test.each([
  // As LiteLLM passes them on (BerriAI/litellm, exception_mapping_utils.py), of Groq, Azure and Gemini.
  ['litellm.RateLimitError: Rate limit reached for m. Please try again in 2m59.56s.', 179_560],
  ['Requests have exceeded the rate limit. Please retry after 26 seconds.', 26_000],
  ['Please try again in 20 minutes', 1_200_000],
  ['All accounts have exhausted their quota (reset after 5m)', 300_000],
  ['Please try again in a few seconds.', null],
  ['Try again in 2026.', null],
])('an upstream that says %j asks for a wait of %j ms', (message, ms) => {
  expect(retryAfterMs({}, { retryAfterMs: null, headers: {}, message }, NOW)).toBe(ms);
});

test('an error behind a 200 is judged by all of its words, of which an app gets the first 500', () => {
  const error = wordsOnly(`${'a'.repeat(500)}: maximum context length is 8`);
  const called = { upstream: 'local', request: { endpoint: { support: 'required' } } } as const;
  const failure = classify({ kind: 'error_answer', error, headers: {} }, called, NOW);
  expect(failure).toMatchObject({ reason: 'context_length', said: error.message });
  expect(failure.response?.error.message).toBe('a'.repeat(500));
});
