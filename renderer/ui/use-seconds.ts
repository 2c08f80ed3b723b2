import { useEffect, useState } from 'react';

/** Page time, updated once a second; `frozenAt` stops it. */
export function useSeconds(frozenAt: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (frozenAt !== null) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [frozenAt]);
  return frozenAt ?? now;
}
