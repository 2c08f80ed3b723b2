import { expect, test } from 'vitest';
import {
  decodeSpeed,
  meanOf,
  parseMetrics,
  parsePrometheus,
  sumOf,
} from '../../../main/agent/engines/adapters/metrics.ts';
import { shownLocation } from '../../../main/agent/engines/adapters/probe.ts';
import { fixture } from '../fixture.ts';

test.each([
  ['Qwen/Qwen3-32B', 'Qwen/Qwen3-32B'],
  ['llama3:8b', 'llama3:8b'],
  ['ai/smollm2:latest', 'ai/smollm2:latest'],
  ['/home/ada/models/gemma-Q4_K_M.gguf', 'gemma-Q4_K_M.gguf'],
  ['models/gemma-Q4_K_M.gguf', 'gemma-Q4_K_M.gguf'],
  ['C:\\Users\\Ada\\models\\gemma.gguf', 'gemma.gguf'],
  ['./models', 'models'],
  ['~/models/qwen', 'qwen'],
  ['/data/models/Qwen3-32B/', 'Qwen3-32B'],
  [
    '/home/ada/.cache/huggingface/hub/models--Qwen--Qwen3-32B/snapshots/9216db5781bf21249d130ec9da846c4624c16137',
    'Qwen/Qwen3-32B',
  ],
])('of where a model lies, %s, only %s is shown', (location, shown) => {
  expect(shownLocation(location)).toBe(shown);
});

test('samples are read over all labels; buckets, comments and what is no number are left out', () => {
  const samples = parsePrometheus(
    'a{x="1"} 2\na{x="2"} 4 1700000000\n# b 1\nc NaN\nd -1\ne_bucket{le="1"} 5\nno line\n=\nf{l="} 9"} 1',
  );
  expect([...samples.keys()]).toEqual(['a', 'f']);
  expect([sumOf(samples, 'a'), meanOf(samples, 'a'), sumOf(samples, 'c')]).toEqual([6, 3, null]);
  expect(sumOf(samples, 'missing', 'f')).toBe(1);
});

test('the metrics of one engine are not those of another', () => {
  expect(parseMetrics('vllm', fixture('sglang-metrics.txt'))).toBeNull();
  expect(parseMetrics('sglang', fixture('vllm-metrics.txt'))).toBeNull();
  expect(parseMetrics('llama.cpp', '<html>')).toBeNull();
});

const NOTHING = { running: null, waiting: null, cacheUse: null, generatedTokens: null };

test.each([
  ['vllm', 'vllm-metrics-v1.txt', { running: 0, waiting: 0, cacheUse: 0 }, { kind: 'none' }],
  ['vllm', 'vllm-metrics-tgis.txt', { generatedTokens: 218_152 }, { kind: 'none' }],
  ['tgi', 'vllm-metrics-tgis.txt', { running: 0, waiting: 0 }, { kind: 'none' }],
  [
    'llama.cpp',
    'llama-cpp-metrics-cut.txt',
    { generatedTokens: 673 },
    { kind: 'count', count: { tokens: 673, seconds: 29.567 } },
  ],
  [
    'sglang',
    'sglang-metrics-0.5.1.txt',
    { running: 1, cacheUse: 0 },
    { kind: 'tps', tps: 0.8371284457403783 },
  ],
] as const)(
  '%s: of %s what is there is read, and nothing is made up',
  (kind, page, told, decode) => {
    const metrics = { ...NOTHING, ...told };
    expect(parseMetrics(kind, fixture(page))).toEqual({ metrics, decode });
  },
);

test('the speed is that since the last look, and of all time at the first', () => {
  const count = (tokens: number, seconds: number) => ({ tokens, seconds });
  expect(decodeSpeed(null, count(1000, 25))).toBe(40);
  expect(decodeSpeed(count(1000, 25), count(1100, 30))).toBe(20);
  expect(decodeSpeed(count(1000, 25), count(1000, 25))).toBeNull();
  expect(decodeSpeed(count(1000, 25), count(10, 1))).toBe(10);
  expect(decodeSpeed(null, count(0, 0))).toBeNull();
});
