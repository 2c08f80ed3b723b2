/** The index of the row that a key moves to from `at`; null if it does not move. */
export function rowAfterKey(key: string, at: number, count: number): number | null {
  const to = STEPS[key]?.(at, count);
  return to === undefined || count === 0 ? null : Math.min(Math.max(to, 0), count - 1);
}

const PAGE_ROWS = 10;

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + PAGE_ROWS,
  PageUp: (at) => at - PAGE_ROWS,
  Home: () => 0,
  End: (_, count) => count - 1,
};
