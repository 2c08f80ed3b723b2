import { useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import { holdRows } from './held-rows.ts';

/** `rows` as they were when `isHeld` became true; another `key` is another list, and starts anew. */
export function useHeldRows(
  rows: readonly RequestRow[],
  key: string,
  isHeld: boolean,
): ReturnType<typeof holdRows> {
  const [last, setLast] = useState({ key, shown: rows });
  const held = holdRows(isHeld && last.key === key ? last.shown : null, rows);
  if (last.key !== key || last.shown !== held.shown) setLast({ key, shown: held.shown });
  return held;
}
