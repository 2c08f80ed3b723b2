import { useEffect, useRef } from 'react';

/**
 * At a new page the focus goes to its heading: a screen reader says it, and the Tab key goes on from there. Where the page
 * itself has put the focus, as the list does that one returns to, it stays.
 */
export function usePageFocus(page: string): void {
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    const main = document.getElementById('content');
    const { activeElement: held } = document;
    if (main === null || (held !== main && main.contains(held))) return;
    const heading = main.querySelector('h1');
    // A heading takes the focus only from here, so that Tab passes it by.
    heading?.setAttribute('tabindex', '-1');
    (heading ?? main).focus({ preventScroll: true });
  }, [page]);
}
