/** One figure of a family; null: there is none, and the sample is left out. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | null;
}

/** A metric with all of its samples. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The media type of the Prometheus text format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Families in the Prometheus text format 0.0.4; one without any figure is left out. */
export function exposition(families: readonly Family[]): string {
  return families.map(familyText).join('');
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.flatMap(({ labels, value }) =>
    value === null ? [] : [`${name}${labelText(labels)} ${value}\n`],
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
