import { type RefObject, useEffect, useState } from 'react';

/** How long a pointer may leave the element and still count as inside. */
const RELEASE_MS = 400;

export function useInUse(place: RefObject<HTMLElement | null>): boolean {
  const [pointer, setPointer] = useState(false);
  const [focus, setFocus] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const enter = () => {
      clearTimeout(timer);
      setPointer(true);
    };
    const leave = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setPointer(false), RELEASE_MS);
    };
    element.addEventListener('pointerenter', enter, { signal });
    element.addEventListener('pointermove', enter, { signal, passive: true });
    element.addEventListener('pointerleave', leave, { signal });
    element.addEventListener('focusin', () => setFocus(true), { signal });
    element.addEventListener('focusout', () => setFocus(false), { signal });
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [place]);
  return pointer || focus;
}
