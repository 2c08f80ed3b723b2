import type { DecodeCount, DecodeReport, EngineMetrics } from './engine-view.ts';

export interface MetricsReport {
  readonly metrics: EngineMetrics;
  readonly decode: DecodeReport;
}

const NO_DECODE: DecodeReport = { kind: 'none' };

export type MeteredKind = 'vllm' | 'llama.cpp' | 'sglang' | 'tgi';

/** The names of an engine's metrics, of which the first that exists counts. */
interface MetricNames {
  readonly prefix: string;
  readonly running: readonly string[];
  readonly generatedTokens: readonly string[];
  /** Decoded tokens, and the seconds that they took. */
  readonly decoded: readonly (readonly [tokens: string, seconds: string])[];
  /** The speed of one stream, of an engine that does not count. */
  readonly tps?: (samples: Samples, running: number | null) => number | null;
}

const NAMES: Readonly<Record<MeteredKind, MetricNames>> = {
  vllm: {
    prefix: 'vllm:',
    running: ['vllm:num_requests_running'],
    generatedTokens: ['vllm:generation_tokens_total', 'vllm:generation_tokens'],
    decoded: [
      ofHistogram('vllm:inter_token_latency_seconds'),
      ofHistogram('vllm:time_per_output_token_seconds'),
    ],
  },
  'llama.cpp': {
    prefix: 'llamacpp:',
    running: ['llamacpp:requests_processing'],
    generatedTokens: ['llamacpp:tokens_predicted_total'],
    decoded: [['llamacpp:tokens_predicted_total', 'llamacpp:tokens_predicted_seconds_total']],
    tps: (samples) => firstOf(samples, 'llamacpp:predicted_tokens_seconds'),
  },
  sglang: {
    prefix: 'sglang:',
    running: ['sglang:num_running_reqs', 'sglang:num_requests_running'],
    generatedTokens: ['sglang:generation_tokens_total'],
    decoded: [
      ofHistogram('sglang:inter_token_latency_seconds'),
      ofHistogram('sglang:time_per_output_token_seconds'),
    ],
    tps(samples, running) {
      // The sum of all streams.
      const throughput = firstOf(samples, 'sglang:gen_throughput');
      return throughput === null || !running ? null : throughput / running;
    },
  },
  tgi: {
    prefix: 'tgi_',
    running: ['tgi_batch_current_size'],
    generatedTokens: ['tgi_request_generated_tokens_sum'],
    decoded: [ofHistogram('tgi_request_mean_time_per_token_duration')],
  },
};

/** A histogram of seconds per token. */
function ofHistogram(name: string) {
  return [`${name}_count`, `${name}_sum`] as const;
}

/** Null if the text has no metric of that engine. */
export function parseMetrics(kind: MeteredKind, text: string): MetricsReport | null {
  const samples = parsePrometheus(text);
  const { prefix, decoded, tps, ...names } = NAMES[kind];
  if (![...samples.keys()].some((name) => name.startsWith(prefix))) return null;
  const metrics = {
    running: firstOf(samples, ...names.running),
    generatedTokens: firstOf(samples, ...names.generatedTokens),
  };
  for (const pair of decoded) {
    const [tokens = null, seconds = null] = pair.map((name) => firstOf(samples, name));
    if (tokens !== null && seconds !== null)
      return { metrics, decode: { kind: 'count', count: { tokens, seconds } } };
  }
  return { metrics, decode: tpsReport(tps?.(samples, metrics.running) ?? null) };
}

/** A speed that the engine reports, in tokens per second; 0 means not measured yet. */
export function tpsReport(tps: number | null): DecodeReport {
  return tps === null || tps <= 0 ? NO_DECODE : { kind: 'tps', tps };
}

/** Tokens per second between two counts; null if nothing was decoded. */
export function decodeSpeed(before: DecodeCount | null, now: DecodeCount): number | null {
  // A lower count means that the engine was restarted.
  const since = before !== null && before.tokens <= now.tokens ? before : { tokens: 0, seconds: 0 };
  const tokens = now.tokens - since.tokens;
  const seconds = now.seconds - since.seconds;
  return tokens > 0 && seconds > 0 ? tokens / seconds : null;
}

/** The metrics of a Prometheus text by name, each the sum over its label sets. */
type Samples = ReadonlyMap<string, number>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{[^\n]*\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?$/;
/** Histogram buckets make up most of the text and are not needed. */
const isWanted = (name: string) => !name.endsWith('_bucket');

/** A large vLLM has some 3,000 lines; parsing this many takes 20 ms. */
const MAX_LINES = 32_768;

/** Reads a Prometheus text (exposition format 0.0.4); lines that do not parse are skipped, as are those beyond `MAX_LINES`. */
export function parsePrometheus(text: string): Samples {
  const samples = new Map<string, number>();
  for (const line of text.split('\n', MAX_LINES)) {
    if (line.startsWith('#')) continue;
    const [, name, value] = SAMPLE.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined || !isWanted(name)) continue;
    const number = Number(value);
    if (!Number.isFinite(number) || number < 0) continue;
    samples.set(name, (samples.get(name) ?? 0) + number);
  }
  return samples;
}

/** The first of these metrics that exists; null if none does. */
function firstOf(samples: Samples, ...names: readonly string[]): number | null {
  return samples.get(names.find((name) => samples.has(name)) ?? '') ?? null;
}
