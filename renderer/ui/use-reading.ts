import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../api/call.ts';
import { startWatch, type Watch } from '../api/watch.ts';

/** State of a polled resource. */
export interface Reading<T> {
  /** The last successful answer; null before the first. */
  readonly value: T | null;
  /** The last error; null after a success. */
  readonly failure: Extract<Answer<T>, { ok: false }> | null;
  readonly again: () => void;
}

/** Must be referentially stable: an effect depends on its members. */
interface ReadingOptions<T> {
  readonly longestMs?: number;
  /** True for an answer that will not change, after which reading stops. */
  readonly isFinal?: (value: T) => boolean;
}

/** Reads while the component is mounted, and again when `revision` changes; `read` must be referentially stable. */
export function useReading<T>(
  read: () => Promise<Answer<T>>,
  revision: number | null,
  initial: T | null,
  { longestMs, isFinal }: ReadingOptions<T> = {},
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
