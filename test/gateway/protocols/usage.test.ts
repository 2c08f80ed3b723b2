import { expect, test } from 'vitest';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { reportedTokens, tokensOf, UsageMeter } from '../../../main/gateway/protocols/usage.ts';

const tokens = (body: object | string) =>
  reportedTokens(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

const counted = (input: number, output: number, cached = 0) => ({
  input,
  output,
  cached,
  estimated: false,
});

test.for([
  ['of OpenAI', { prompt_tokens: 7, completion_tokens: 2 }, counted(7, 2)],
  [
    'of Anthropic, which leaves out of the input what its cache took part in',
    {
      input_tokens: 1,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 4,
      output_tokens: 8,
    },
    counted(7, 8, 2),
  ],
  [
    'of xAI, which leaves out of the input what its cache took part in',
    { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 7 } },
    counted(10, 2, 7),
  ],
  [
    'of DeepSeek, which has its own name for cached ones',
    { prompt_tokens: 7, completion_tokens: 2, prompt_cache_hit_tokens: 3 },
    counted(7, 2, 3),
  ],
  ['with a total only', { total_tokens: 9 }, { ...counted(9, 0), estimated: true }],
  ['of no count', { prompt_tokens: -1, completion_tokens: 1.5 }, null],
  ['with one that is no count', { prompt_tokens: 7, completion_tokens: '2' }, null],
  ['without its input', { prompt_tokens: null, completion_tokens: 2 }, null],
  ['beyond any number', { prompt_tokens: 2e15, completion_tokens: 1e308 }, counted(1e9, 1e9)],
  ['that is a parameter of a tool', { type: 'string' }, null],
] as const)('a usage %s is read as it is meant', ([_which, usage, read]) => {
  expect(tokens({ choices: [], usage })).toEqual(read);
});

// As llama.cpp answered before its usage told (ggml-org/llama.cpp#15827).
const USAGE = { prompt_tokens: 237, completion_tokens: 35 };
const TIMINGS = { cache_n: 236, prompt_n: 1, prompt_ms: 30.958, predicted_n: 35 };

test('the timings of llama.cpp give the cached tokens if its usage does not', () => {
  expect(tokens({ choices: [], usage: USAGE, timings: TIMINGS })).toEqual(counted(237, 35, 236));
  expect(tokens({ timings: TIMINGS, choices: [], usage: USAGE })).toEqual(counted(237, 35, 236));
  const told = { ...USAGE, prompt_tokens_details: { cached_tokens: 100 } };
  expect(tokens({ usage: told, timings: TIMINGS })).toEqual(counted(237, 35, 100));
  expect(tokens({ usage: USAGE, timings: { ...TIMINGS, cache_n: -1 } })).toEqual(counted(237, 35));
  expect(tokens({ timings: TIMINGS })).toBeNull();
});

test('a usage at the beginning or at the end of a long answer is found', () => {
  const filler = 'x'.repeat(300_000);
  const usage = { prompt_tokens: 7, completion_tokens: 2 };
  expect(tokens({ usage, filler })).toEqual(counted(7, 2));
  expect(tokens({ filler, usage })).toEqual(counted(7, 2));
});

test('usage is not believed at all if its last count is invalid', () => {
  const meter = new UsageMeter(false);
  for (const usage of [{ input_tokens: 7, output_tokens: 1 }, { output_tokens: -5 }])
    meter.take({ bytes: Buffer.from(`data: ${JSON.stringify({ usage })}\n\n`), ends: [] });
  expect(meter.tokens()).toBeNull();
});

test.each([
  ['its prompt alone', { prompt_tokens: 7 }, 7],
  ['a prompt of no tokens', { prompt_tokens: 0, completion_tokens: 9 }, 100],
  ['a billion tokens', { prompt_tokens: 1e9, completion_tokens: 1e9 }, 100],
  ['more input than its prompt and what can be added', { prompt_tokens: 1_000_401 }, 100],
  ['more output than any model writes', { prompt_tokens: 1, completion_tokens: 1_000_001 }, 100],
])('an answer that reports %s is estimated by its length', (_what, usage, input) => {
  const body = Buffer.from(JSON.stringify({ choices: [], usage }));
  const used = tokensOf(body, { endpoint: CHAT_COMPLETIONS, bytes: Buffer.alloc(400) });
  expect(used).toEqual({ input, output: Math.ceil(body.length / 4), cached: 0, estimated: true });
});
