import { useEffect, useLayoutEffect, useRef } from 'react';

/** The key under which an entry of the browser's history has its number. */
const KEY = 'scroll';

/**
 * A new page begins at its top; the browser's Back and Forward return to where it was left. Within a page, as with a
 * filter or the details of a row, nothing moves.
 */
export function useScroll(page: string): void {
  const left = useRef(new Map<number, number>());
  const entry = useRef(0);
  /** The entry whose page is shown: between `popstate` and `hashchange` still the one that is left. */
  const displayed = useRef(0);
  const last = useRef(0);
  const shown = useRef(page);

  useEffect(() => {
    history.scrollRestoration = 'manual';
    // The entry that the page was opened with, or reloaded at.
    const known = numberOf(history.state);
    entry.current = known ?? 0;
    if (known === null) history.replaceState({ [KEY]: 0 }, '');
    last.current = entry.current;
    displayed.current = entry.current;
    const positions = left.current;
    const note = () => positions.set(displayed.current, scrollY);
    const move = ({ state }: PopStateEvent) => {
      // The event of the last scroll may not have come yet.
      note();
      const number = numberOf(state);
      entry.current = number ?? last.current + 1;
      last.current = Math.max(last.current, entry.current);
      if (number === null) {
        positions.delete(entry.current);
        history.replaceState({ [KEY]: entry.current }, '');
      }
    };
    const arrive = () => void (displayed.current = entry.current);
    // These run before the page changes, which may shorten it and so move it.
    addEventListener('scroll', note, { passive: true });
    addEventListener('popstate', move, { capture: true });
    addEventListener('hashchange', arrive, { capture: true });
    return () => {
      removeEventListener('scroll', note);
      removeEventListener('popstate', move, { capture: true });
      removeEventListener('hashchange', arrive, { capture: true });
    };
  }, []);

  useLayoutEffect(() => {
    if (shown.current === page) return undefined;
    shown.current = page;
    return scrollBackTo(left.current.get(entry.current) ?? 0);
  }, [page]);
}

/** Scrolls as soon as the page, which may still be reading, is long enough, unless the user has moved by then. */
function scrollBackTo(top: number): () => void {
  scrollTo(0, top);
  let at = scrollY;
  const grown = new ResizeObserver(() => {
    if (scrollY !== at || at >= top) grown.disconnect();
    else {
      scrollTo(0, top);
      at = scrollY;
    }
  });
  if (at < top) grown.observe(document.body);
  return () => grown.disconnect();
}

function numberOf(state: unknown): number | null {
  const value = (state as Readonly<Record<string, unknown>> | null)?.[KEY];
  return typeof value === 'number' ? value : null;
}
