import { table } from './table.ts';

/** One promise about speed, held against what was measured (docs/performance.md). */
export interface Bound {
  readonly what: string;
  readonly unit: '×' | ' ms' | ' MB' | ' KB' | ' %';
  readonly measured: number;
  /** More than this is a fault, and the bench fails. */
  readonly most: number;
  /** Where it should come to; null if `most` is all that is wanted. */
  readonly aim: number | null;
}

/** `aim missed` is work left to do; only `BROKEN` is a fault. */
export type Verdict = 'met' | 'aim met' | 'aim missed' | 'BROKEN';

/** In a word; what could not be measured is not met. */
export function verdict({ measured, most, aim }: Bound): Verdict {
  if (!(measured <= most)) return 'BROKEN';
  if (aim === null) return 'met';
  return measured <= aim ? 'aim met' : 'aim missed';
}

/** All bounds of a part, as they are printed. */
export function boundsTable(bounds: readonly Bound[]): string {
  return table([['bound', 'measured', 'at most', 'aim', ''], ...bounds.map(boundRow)]);
}

function boundRow(bound: Bound): string[] {
  const { what, unit, measured, most, aim } = bound;
  const digits = unit === '×' ? 2 : 1;
  return [
    what,
    Number.isFinite(measured) ? `${measured.toFixed(digits)}${unit}` : '–',
    `${most}${unit}`,
    aim === null ? '–' : `${aim}${unit}`,
    verdict(bound),
  ];
}

/** The last line of a run, and its exit status: 1 where a bound is broken, else 0. */
export function conclusionOf(bounds: readonly Bound[]): {
  readonly text: string;
  readonly code: 0 | 1;
} {
  const count = (wanted: Verdict) => bounds.filter((bound) => verdict(bound) === wanted).length;
  const broken = count('BROKEN');
  const text = `${bounds.length} bounds: ${broken} broken; ${count('aim missed')} aims missed, ${count('aim met')} met.`;
  return { text, code: broken > 0 ? 1 : 0 };
}
