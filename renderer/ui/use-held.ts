import { useState } from 'react';

/** The newest value, or while it is held the one before. Null, and what is of something else, is never held. */
export function useHeld<T>(value: T | null, of: string, isHeld: boolean): T | null {
  const [kept, setKept] = useState({ of, value });
  if (isHeld && kept.of === of && kept.value !== null) return kept.value;
  if (kept.of !== of || !Object.is(kept.value, value)) setKept({ of, value });
  return value;
}
