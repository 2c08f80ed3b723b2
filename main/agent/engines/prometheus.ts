/** Samples of a Prometheus text, by metric name. */
export type Samples = ReadonlyMap<string, readonly number[]>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{[^\n]*\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?$/;
/** Buckets of histograms are most of the text and of no use here. */
const isWanted = (name: string) => !name.endsWith('_bucket');

/** The metrics of a large vLLM are some 3,000 lines; so many take 20 ms. */
const MAX_LINES = 32_768;

/** Reads a Prometheus text (exposition format 0.0.4); lines that are none are left out, as is what comes behind too many. */
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

/** The sum over all label sets of the first of these metrics that there is; null where there is none. */
export function sumOf(samples: Samples, ...names: readonly string[]): number | null {
  const values = valuesOf(samples, names);
  return values === null ? null : values.reduce((sum, value) => sum + value, 0);
}

/** The mean over all label sets; null where there is none. */
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
