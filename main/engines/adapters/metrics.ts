import type { DecodeCount, DecodeReport, EngineMetrics } from './engine-view.ts';

export interface MetricsReport {
  readonly metrics: EngineMetrics;
  readonly decode: DecodeReport;
}

const NO_DECODE: DecodeReport = { kind: 'none' };

export type MeteredKind = 'vllm' | 'llama.cpp' | 'sglang' | 'tgi';

/** Prefix of each engine's metric names. */
const PREFIXES: Readonly<Record<MeteredKind, string>> = {
  vllm: 'vllm:',
  'llama.cpp': 'llamacpp:',
  sglang: 'sglang:',
  tgi: 'tgi_',
};

/** Null if the text has no metric of that engine. */
export function parseMetrics(kind: MeteredKind, text: string): MetricsReport | null {
  const samples = parsePrometheus(text);
  const isOwn = [...samples.keys()].some((name) => name.startsWith(PREFIXES[kind]));
  return isOwn ? READERS[kind](samples) : null;
}

const READERS: Readonly<Record<MeteredKind, (samples: Samples) => MetricsReport>> = {
  vllm: (samples) => ({
    metrics: {
      running: sumOf(samples, 'vllm:num_requests_running'),
      waiting: sumOf(samples, 'vllm:num_requests_waiting'),
      // The second name is that of vLLM's engine V0.
      cacheUse: meanOf(samples, 'vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'),
      generatedTokens: sumOf(samples, 'vllm:generation_tokens_total', 'vllm:generation_tokens'),
    },
    decode: perToken(
      samples,
      'vllm:inter_token_latency_seconds',
      'vllm:time_per_output_token_seconds',
    ),
  }),
  'llama.cpp': (samples) => {
    const tokens = sumOf(samples, 'llamacpp:tokens_predicted_total');
    const seconds = sumOf(samples, 'llamacpp:tokens_predicted_seconds_total');
    const mean = meanOf(samples, 'llamacpp:predicted_tokens_seconds');
    return {
      metrics: {
        running: sumOf(samples, 'llamacpp:requests_processing'),
        waiting: sumOf(samples, 'llamacpp:requests_deferred'),
        cacheUse: meanOf(samples, 'llamacpp:kv_cache_usage_ratio'),
        generatedTokens: tokens,
      },
      decode: countReport(tokens, seconds) ?? tpsReport(mean),
    };
  },
  sglang: (samples) => {
    const running = sumOf(samples, 'sglang:num_running_reqs', 'sglang:num_requests_running');
    const throughput = sumOf(samples, 'sglang:gen_throughput');
    const counted = perToken(
      samples,
      'sglang:inter_token_latency_seconds',
      'sglang:time_per_output_token_seconds',
    );
    // The throughput is the sum of all streams.
    const share = throughput === null || !running ? null : throughput / running;
    return {
      metrics: {
        running,
        waiting: sumOf(samples, 'sglang:num_queue_reqs', 'sglang:num_requests_waiting'),
        cacheUse: meanOf(samples, 'sglang:token_usage'),
        generatedTokens: sumOf(samples, 'sglang:generation_tokens_total'),
      },
      decode: counted.kind === 'none' ? tpsReport(share) : counted,
    };
  },
  tgi: (samples) => ({
    metrics: {
      running: sumOf(samples, 'tgi_batch_current_size'),
      waiting: sumOf(samples, 'tgi_queue_size'),
      cacheUse: null,
      generatedTokens: sumOf(samples, 'tgi_request_generated_tokens_sum'),
    },
    decode: perToken(samples, 'tgi_request_mean_time_per_token_duration'),
  }),
};

/** Speed from a histogram of seconds per token. */
function perToken(samples: Samples, ...histograms: readonly string[]): DecodeReport {
  for (const name of histograms) {
    const report = countReport(sumOf(samples, `${name}_count`), sumOf(samples, `${name}_sum`));
    if (report !== null) return report;
  }
  return NO_DECODE;
}

function countReport(tokens: number | null, seconds: number | null): DecodeReport | null {
  if (tokens === null || seconds === null) return null;
  return { kind: 'count', count: { tokens, seconds } };
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

/** Samples of a Prometheus text by metric name. */
type Samples = ReadonlyMap<string, readonly number[]>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{[^\n]*\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?$/;
/** Histogram buckets make up most of the text and are not needed. */
const isWanted = (name: string) => !name.endsWith('_bucket');

/** A large vLLM has some 3,000 lines; parsing this many takes 20 ms. */
const MAX_LINES = 32_768;

/** Reads a Prometheus text (exposition format 0.0.4); lines that do not parse are skipped, as are those beyond `MAX_LINES`. */
export function parsePrometheus(text: string): Samples {
  const samples = new Map<string, number[]>();
  for (const line of text.split('\n', MAX_LINES)) {
    if (line.startsWith('#')) continue;
    const [, name, value] = SAMPLE.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined || !isWanted(name)) continue;
    const number = Number(value);
    if (!Number.isFinite(number) || number < 0) continue;
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [number]);
    else known.push(number);
  }
  return samples;
}

/** The sum over all label sets of the first of these metrics that exists; null if none does. */
export function sumOf(samples: Samples, ...names: readonly string[]): number | null {
  const values = valuesOf(samples, names);
  return values === null ? null : values.reduce((sum, value) => sum + value, 0);
}

/** The mean over all label sets, as in `sumOf`. */
export function meanOf(samples: Samples, ...names: readonly string[]): number | null {
  const values = valuesOf(samples, names);
  return values === null ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function valuesOf(samples: Samples, names: readonly string[]): readonly number[] | null {
  for (const name of names) {
    const values = samples.get(name);
    if (values !== undefined) return values;
  }
  return null;
}
