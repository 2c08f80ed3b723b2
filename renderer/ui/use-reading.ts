import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../api/call.ts';
import { startWatch, type Watch } from '../api/watch.ts';

/** What is known of something that is read again and again. */
export interface Reading<T> {
  /** The last good answer, null before the first. */
  readonly value: T | null;
  /** What the last answer was if it was not a good one. */
  readonly failure: Extract<Answer<T>, { ok: false }> | null;
  readonly again: () => void;
}

/** How something is read, where that is not as usual; the members must stay the same. */
interface Habits<T> {
  readonly longestMs?: number;
  /** True for an answer that will not change: it is the last one. */
  readonly isFinal?: (value: T) => boolean;
}

/** Reads while the component is shown, again when `revision` changes; `read` must stay the same. */
export function useReading<T>(
  read: () => Promise<Answer<T>>,
  revision: number | null,
  initial: T | null,
  { longestMs, isFinal }: Habits<T> = {},
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
        if (!answer.ok) return;
        if (isFinal?.(answer.value)) started.close();
        setValue(() => answer.value);
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
  }, [read, longestMs, isFinal]);

  const seen = useRef(revision);
  useEffect(() => {
    if (seen.current !== revision) watch.current?.changed();
    seen.current = revision;
  }, [revision]);

  return { value, failure, again: () => watch.current?.again() };
}
