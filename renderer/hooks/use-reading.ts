import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../data/call.ts';
import { startWatch, type Watch } from '../data/watch.ts';

/** What is known of something that is read again and again. */
export interface Reading<T> {
  /** The last good answer, null before the first. */
  readonly value: T | null;
  /** What the last answer was if it was not a good one. */
  readonly failure: Extract<Answer<T>, { ok: false }> | null;
  readonly again: () => void;
}

/** Reads while the component is shown, again when `revision` changes; `read` must stay the same. */
export function useReading<T>(
  read: () => Promise<Answer<T>>,
  revision: number | null,
  initial: T | null,
  longestMs?: number,
): Reading<T> {
  const [value, setValue] = useState(initial);
  const [failure, setFailure] = useState<Reading<T>['failure']>(null);
  const watch = useRef<Watch | null>(null);

  useEffect(() => {
    const started = startWatch({
      read: async () => {
        const answer = await read();
        if (watch.current !== started) return;
        setFailure(answer.ok ? null : answer);
        if (answer.ok) setValue(() => answer.value);
      },
      now: () => performance.now(),
      after: (ms, run) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      ...(longestMs === undefined ? {} : { longestMs }),
    });
    watch.current = started;
    return () => {
      started.close();
      watch.current = null;
    };
  }, [read, longestMs]);

  const seen = useRef(revision);
  useEffect(() => {
    if (seen.current !== revision) watch.current?.changed();
    seen.current = revision;
  }, [revision]);

  return { value, failure, again: () => watch.current?.again() };
}
