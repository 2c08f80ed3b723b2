import { type RefObject, useLayoutEffect, useState } from 'react';

/** Rows rendered beyond the edges, so that none is missing while scrolling. */
const OVERSCAN = 6;

interface Range {
  readonly top: number;
  readonly first: number;
  /** Exclusive. */
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
