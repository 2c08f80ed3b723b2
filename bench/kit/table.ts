import type { Spread } from './numbers.ts';

/** How the figures of a report are written. */

export const whole = (value: number) => value.toFixed(0);
export const short = (value: number) => (Math.abs(value) < 100 ? value.toFixed(1) : whole(value));

/** A ratio with its quartiles, such as `1.08 (1.02–1.11)`. */
export function ratioText(ratio: Spread | null | undefined): string {
  if (ratio === null || ratio === undefined) return '–';
  const { value, lower, upper } = ratio;
  return `${value.toFixed(2)} (${lower.toFixed(2)}–${upper.toFixed(2)})`;
}

/** Columns as wide as their widest cell; the first is words, the others stand to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
