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
export function familyText(
  type: string,
  name: string,
  help: string,
  lines: readonly string[],
): string {
  if (lines.length === 0) return '';
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

export function linesOf(name: string, points: Points): readonly string[] {
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
