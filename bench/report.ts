import { median, quantile } from './kit/numbers.ts';

/** One promise about speed, held against what was measured (docs/contributing/benchmarks.md). */
export interface Bound {
  readonly what: string;
  readonly unit: '×' | ' ms' | ' MB' | ' KB' | ' %';
  readonly measured: number;
  /** What a machine that is busy with other work still keeps; more is a fault, and the bench fails. */
  readonly most: number;
  /** What a quiet run should come to; null if `most` is all that is wanted. */
  readonly aim: number | null;
}

/** A bound without an aim, or with the one that is given. */
export const bound = (
  what: string,
  unit: Bound['unit'],
  measured: number,
  most: number,
  aim: number | null = null,
): Bound => ({ what, unit, measured, most, aim });

/** `aim missed` is work left to do; only `BROKEN` is a fault. */
export type Verdict = 'met' | 'aim met' | 'aim missed' | 'BROKEN';

/** In a word; what could not be measured is not met. */
export function verdict({ measured, most, aim }: Bound): Verdict {
  if (!(measured <= most)) return 'BROKEN';
  if (aim === null) return 'met';
  return measured <= aim ? 'aim met' : 'aim missed';
}

/** The last line of a run, and its exit status: 1 where a bound is broken, else 0. */
export function conclusionOf(bounds: readonly Bound[]): {
  readonly text: string;
  readonly code: 0 | 1;
} {
  const count = (wanted: Verdict) => bounds.filter((each) => verdict(each) === wanted).length;
  const broken = count('BROKEN');
  const text = `${bounds.length} bounds: ${broken} broken; ${count('aim missed')} aims missed, ${count('aim met')} met.`;
  return { text, code: broken > 0 ? 1 : 0 };
}

/** A table's cells by rows, its head first. */
export type Rows = readonly (readonly string[])[];

/** What a part of the bench brought. */
export interface Report {
  /** Words before the table. */
  readonly intro: string;
  readonly table: Rows;
  /** Words that are printed only. */
  readonly notes: readonly string[];
  readonly bounds: readonly Bound[];
}

const boundRows = (bounds: readonly Bound[]): Rows => [
  ['bound', 'measured', 'at most', 'aim', ''],
  ...bounds.map((each) => {
    const { what, unit, measured, most, aim } = each;
    const text = Number.isFinite(measured)
      ? `${measured.toFixed(unit === '×' ? 2 : 1)}${unit}`
      : '–';
    return [what, text, `${most}${unit}`, aim === null ? '' : `${aim}${unit}`, verdict(each)];
  }),
];

/** A report as it is printed. */
export const reportText = ({ intro, table, notes, bounds }: Report): string =>
  [intro, tableText(table), ...notes, tableText(boundRows(bounds))].join('\n\n');

/** A table of Markdown, for docs/contributing/benchmarks.md. */
function tableText([head = [], ...rows]: Rows): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [head, head.map(() => '---'), ...rows].map(row).join('\n');
}

export const short = (value: number) => value.toFixed(Math.abs(value) < 100 ? 1 : 0);

/** The median of figures with its quartiles, such as `1.08 (1.02–1.11)`. */
export function spreadText(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const [lower, upper] = [quantile(values, 0.25), quantile(values, 0.75)];
  return `${median(values).toFixed(2)} (${lower.toFixed(2)}–${upper.toFixed(2)})`;
}
