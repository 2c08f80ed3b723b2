import type { Histogram } from './traffic.ts';

/** A sample without a value (null) is left out. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | null;
  /** Added to the family's name, for the samples of a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export type Point = readonly [labels: Readonly<Record<string, string>>, value: number | null];

export function family(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  points: readonly Point[],
): Family {
  return { name, type, help, samples: points.map(([labels, value]) => ({ labels, value })) };
}

export function histogramFamily(
  name: string,
  help: string,
  series: readonly (readonly [labels: Readonly<Record<string, string>>, histogram: Histogram])[],
): Family {
  const samples = series.flatMap(([labels, histogram]): Sample[] => {
    const counts = histogram.cumulative();
    const bounds = [...histogram.bounds.map(String), '+Inf'];
    return [
      ...bounds.map((le, index) => ({
        labels: { ...labels, le },
        value: counts[index] ?? 0,
        suffix: '_bucket' as const,
      })),
      { labels, value: histogram.sum(), suffix: '_sum' },
      { labels, value: counts.at(-1) ?? 0, suffix: '_count' },
    ];
  });
  return { name, type: 'histogram', help, samples };
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The Prometheus text format 0.0.4; a family without samples is left out. */
export function exposition(families: readonly Family[]): string {
  return families.map(familyText).join('');
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.flatMap(({ labels, value, suffix = '' }) =>
    value === null ? [] : [`${name}${suffix}${labelText(labels)} ${value}\n`],
  );
  if (lines.length === 0) return '';
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}
