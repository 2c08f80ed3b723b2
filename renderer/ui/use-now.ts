import { useEffect, useState } from 'react';
import type { LiveData } from '../api/live-data.ts';

const TICK_MS = 250;

/** Page time, moving only while something on screen counts; `frozenAt` holds it still. */
export function useNow(data: LiveData | null, frozenAt: number | null): number {
  const [tick, setTick] = useState(() => Date.now());
  const counting = frozenAt === null && data !== null && countsTime(data);
  useEffect(() => {
    if (!counting) return undefined;
    const timer = setInterval(() => setTick(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [counting]);
  return frozenAt ?? Math.max(tick, data?.receivedAt ?? 0);
}

function countsTime({ requests, status }: LiveData): boolean {
  return (
    requests.some(({ state }) => state === 'running') ||
    status.upstreams.some(({ circuit, skips }) => circuit.open || skips.length > 0)
  );
}
