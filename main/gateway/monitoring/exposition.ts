/* The Prometheus text format 0.0.4. */

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;
/** One without a value (null) is left out. */
export type Point = readonly [labels: Labels, value: number | null];
type Points = readonly Point[] | Point[1];

/** `points` is the value of a family that has no labels. */
export const counter = (name: string, help: string, points: Points) =>
  familyText('counter', name, help, linesOf(name, points));
export const gauge = (name: string, help: string, points: Points) =>
  familyText('gauge', name, help, linesOf(name, points));

/** Empty for a family without samples. */
function familyText(type: string, name: string, help: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function linesOf(name: string, points: Points): readonly string[] {
  const all: readonly Point[] =
    typeof points === 'number' || points === null ? [[{}, points]] : points;
  return all.flatMap(([labels, value]) =>
    value === null ? [] : `${name}${labelText(labels)} ${value}\n`,
  );
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
}

/** A family of counters, or of histograms. */
export interface Family {
  readonly help: string;
  /** Present from the start: `increase` misses the first count of a new series. */
  readonly initial: readonly Labels[];
  /** What is added for one of its unit. */
  readonly unit?: number;
  /** Of a histogram. */
  readonly bounds?: readonly number[];
}

interface Series {
  readonly labels: Labels;
  /** Of a histogram: how many there were. */
  value: number;
  /** Of a histogram: up to each bound, then all others. */
  readonly counts: number[];
  sum: number;
}

/** Counts that begin with the process, as scrapers expect: one restored from disk would jump after a crash. */
export function createSeries<Name extends string>(families: Readonly<Record<Name, Family>>) {
  const all = new Map<string, Map<string, Series>>();

  function at(name: Name, labels: Labels): Series {
    const series = all.get(name) ?? new Map<string, Series>();
    all.set(name, series);
    const key = Object.values(labels).join('\n');
    const known = series.get(key);
    if (known !== undefined) return known;
    const counts = families[name].bounds?.map(() => 0) ?? [];
    const fresh = { labels, value: 0, counts: [...counts, 0], sum: 0 };
    series.set(key, fresh);
    return fresh;
  }

  function textOf(name: Name): string {
    const { help, unit = 1, bounds } = families[name];
    const series = [...(all.get(name)?.values() ?? [])];
    if (bounds === undefined)
      return counter(
        name,
        help,
        series.map(({ labels, value }): Point => [labels, value / unit]),
      );
    const lines = series.flatMap(({ labels, value, counts, sum }) => {
      let total = 0;
      const buckets = [...bounds.map(String), '+Inf'].map((le, index): Point => [
        { ...labels, le },
        (total += counts[index] ?? 0),
      ]);
      return [
        ...linesOf(`${name}_bucket`, buckets),
        ...linesOf(`${name}_sum`, [[labels, sum]]),
        ...linesOf(`${name}_count`, [[labels, value]]),
      ];
    });
    return familyText('histogram', name, help, lines);
  }

  const names = Object.keys(families) as Name[];
  for (const name of names) for (const labels of families[name].initial) at(name, labels);
  return {
    add(name: Name, labels: Labels, value = 1) {
      at(name, labels).value += value;
    },
    observe(name: Name, labels: Labels, value: number) {
      const series = at(name, labels);
      const { bounds = [] } = families[name];
      const index = bounds.findIndex((bound) => value <= bound);
      const place = index === -1 ? bounds.length : index;
      series.counts[place] = (series.counts[place] ?? 0) + 1;
      series.value += 1;
      series.sum += value;
    },
    text: () => names.map(textOf).join(''),
  };
}
