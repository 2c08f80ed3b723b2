import { expect, test } from 'vitest';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { framesOf } from '../../../main/gateway/protocols/sse.ts';
import {
  NOTHING_SPENT,
  reportedTokens,
  tokensOf,
  UsageMeter,
} from '../../../main/gateway/protocols/tokens.ts';

const tokens = (body: object | string) =>
  reportedTokens(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

const counted = (input: number, output: number, cached = 0) => ({
  input,
  output,
  cached,
  estimated: false,
});

const PARTS = { prompt_tokens: 5, completion_tokens: 10 };
const totalling = (total_tokens: number, more = {}) => ({ ...PARTS, total_tokens, ...more });
const NO_THOUGHTS = { output_tokens_details: { reasoning_tokens: 0 } };

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
  ['of Gemini, which counts thoughts in the total alone', totalling(300), counted(5, 295)],
  ['with a total of more than thoughts', totalling(300, NO_THOUGHTS), counted(5, 10)],
  ['with a total that adds the cache', totalling(19, { cached_tokens: 4 }), counted(5, 10, 4)],
  ['with a total below its parts', totalling(3), counted(5, 10)],
  ['with a total beyond any answer', totalling(2e6), counted(5, 10)],
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
  expect(meter.spent().told).toBeNull();
});

const BYTES = Buffer.alloc(400);

test.each([
  ['its prompt alone', { prompt_tokens: 7 }, 7],
  ['no tokens at all', { prompt_tokens: 0, completion_tokens: 0 }, 100],
  ['a billion tokens', { prompt_tokens: 1e9, completion_tokens: 1e9 }, 100],
  ['more input than its prompt and what can be added', { prompt_tokens: 1_000_401 }, 100],
  ['more output than any model writes', { prompt_tokens: 1, completion_tokens: 1_000_001 }, 100],
])('an answer that reports %s is estimated', (_what, usage, input) => {
  const body = Buffer.from(JSON.stringify({ choices: [], usage }));
  const spent = { told: reportedTokens(body), output: 9 };
  const request = { endpoint: CHAT_COMPLETIONS, bytes: BYTES };
  expect(tokensOf(spent, request, true)).toEqual({ input, output: 9, cached: 0, estimated: true });
});

test('the output that an answer reports is kept with a prompt of no tokens', () => {
  const told = { input: 0, output: 5, cached: 0, estimated: false };
  const used = (body: 'json' | 'multipart') =>
    tokensOf({ told, output: 9 }, { endpoint: { ...CHAT_COMPLETIONS, body }, bytes: BYTES }, true);
  expect(used('json')).toEqual({ ...told, input: 100, estimated: true });
  expect(used('multipart')).toEqual(told);
});

const BASE64 = 'QUJD'.repeat(350_000);
const PDF = `JVBERi0${BASE64}`;
const url = (type: string) => ({ url: `data:${type};base64,${BASE64}` });
const source = (data = BASE64) => ({ source: { type: 'base64', data } });
const LINK = 'https://a.example/b.png';
const IMAGE = 1600;
const PAGES = 17 * 2000;
/** Of a minute as MP3. */
const RECORDING = (BASE64.length * 0.75) / 1024;

test.each<[what: string, part: object, tokens: number]>([
  ['a picture of a chat', { image_url: url('image/png') }, IMAGE],
  ['a recording of a chat', { input_audio: { data: BASE64, format: 'wav' } }, RECORDING],
  ['a video of a chat', { video_url: url('video/mp4') }, RECORDING],
  ['a PDF of a chat', { file: { file_data: url('application/pdf').url } }, PAGES],
  ['a PDF of responses', { type: 'input_file', file_data: PDF }, PAGES],
  ['a picture of messages', source(), IMAGE],
  ['a PDF of messages', source(PDF), PAGES],
  ['a picture of a chat by its address', { image_url: { detail: 'low', url: LINK } }, IMAGE],
  ['a picture of responses by its address', { image_url: LINK }, IMAGE],
  ['a picture of messages by its address', { source: { type: 'url', url: LINK } }, IMAGE],
  ['an address in a text', { text: `see "image_url":"${LINK}"` }, 0],
  ['an address for a tool', { input: { url: LINK } }, 0],
  ['a small picture', source(BASE64.slice(0, 4096)), 1024],
  ['base64 in a text', { text: `see "${url('image/png').url}"` }, BASE64.length / 4],
  ['a text in base64', url('text/plain'), BASE64.length / 4],
])('%s is estimated by what a model makes of it', (_what, part, each) => {
  const messages = [part, { text: 'audio pdf '.repeat(400) }, part];
  const bytes = Buffer.from(JSON.stringify({ messages }));
  const used = tokensOf(NOTHING_SPENT, { endpoint: CHAT_COMPLETIONS, bytes });
  expect(Math.abs((used?.input ?? 0) - 2 * each - 1000)).toBeLessThan(60);
});

const LONG = 'word '.repeat(400);
const chatOf = (delta: object) => ({ choices: [{ delta }] });
const TWICE = { reasoning: LONG, reasoning_details: [{ text: LONG }] };

test.each([
  ['a chat', chatOf({ content: LONG }), chatOf({ content: 'a' })],
  ['a chat whose thoughts come twice', chatOf(TWICE), chatOf({ reasoning: 'a' })],
  ['responses', { type: 'x.delta', delta: LONG }, { type: 'x.done', text: LONG }],
  ['messages', { delta: { partial_json: LONG } }, { type: 'message_start', content: LONG }],
])('an event of %s counts the tokens of its text, or one', (_what, long, short) => {
  const meter = new UsageMeter(false);
  const events = [short, long, short, long].map((each) =>
    Buffer.from(`data: ${JSON.stringify(each)}\n\n`),
  );
  for (const part of [events.slice(0, 2), events.slice(2, 3), events.slice(3)])
    meter.sent(framesOf(part));
  expect(meter.spent()).toEqual({ told: null, output: 2 + 1000 });
});
