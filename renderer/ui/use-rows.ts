import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** Rows rendered beyond the edges, so that none is missing while scrolling. */
const OVERSCAN = 6;

interface Range {
  readonly top: number;
  readonly first: number;
  /** The index behind the last row. */
  readonly last: number;
}

/** The rows of a list that are on screen; all have the height in its `--row`. */
export function useVisibleRange(list: RefObject<HTMLElement | null>): Range {
  const [range, setRange] = useState<Range>({ top: 0, first: 0, last: 2 * OVERSCAN });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    const measure = () => {
      const row = parseFloat(getComputedStyle(element).getPropertyValue('--row'));
      const above = -element.getBoundingClientRect().top;
      const next = rangeOf(above / row, (above + innerHeight) / row);
      setRange((now) =>
        now.first === next.first && now.last === next.last && now.top === next.top ? now : next,
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [list]);
  return range;
}

function rangeOf(from: number, to: number): Range {
  const top = Math.max(0, Math.floor(from));
  return { top, first: Math.max(0, top - OVERSCAN), last: Math.max(0, Math.ceil(to)) + OVERSCAN };
}

export function useRowFocus(
  list: RefObject<HTMLElement | null>,
  { active, count, onMove }: Moves,
): void {
  const latest = useRef<Moves>({ active, count, onMove });
  const isMoving = useRef(false);
  // A passive effect may run after the next key press, and use it up for the row of the press before.
  useLayoutEffect(() => {
    latest.current = { active, count, onMove };
    if (!isMoving.current) return;
    isMoving.current = false;
    const row = list.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    row?.focus({ preventScroll: true });
  });
  // A layout effect as well: a key may be pressed as soon as the list is drawn.
  useLayoutEffect(() => {
    const element = list.current;
    const onKey = (event: KeyboardEvent) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const now = latest.current;
      const to = rowAfterKey(event.key, now.active, now.count);
      if (to === null || element === null) return;
      event.preventDefault();
      scrollToRow(element, to);
      isMoving.current = true;
      now.onMove(to);
    };
    element?.addEventListener('keydown', onKey);
    return () => element?.removeEventListener('keydown', onKey);
  }, [list]);
}

interface Moves {
  readonly active: number;
  readonly count: number;
  readonly onMove: (index: number) => void;
}

function scrollToRow(list: HTMLElement, index: number): void {
  const row = parseFloat(getComputedStyle(list).getPropertyValue('--row'));
  const top = list.getBoundingClientRect().top + index * row;
  const room = document.querySelector('.header')?.getBoundingClientRect().bottom ?? 0;
  if (top < room + row) scrollBy({ top: top - room - row });
  else if (top + row > innerHeight) scrollBy({ top: top + row - innerHeight });
}

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
