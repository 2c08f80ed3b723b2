import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../api/client.ts';

interface Reading<T> {
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

/** Shortest time between two readings that follow changes. */
const SHORTEST_MS = 2_000;
/** The pause is at least this many times as long as the last reading: large lists are read less often. */
const REST = 8;
const LONGEST_MS = 15_000;

interface WatchEdges {
  /** Reads once; never fails. */
  readonly read: () => Promise<void>;
  readonly now: () => number;
  /** Runs something later; returns a function that cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Longest time between two readings without a change; also the pause after a failure. */
  readonly longestMs?: number;
}

interface Watch {
  readonly changed: () => void;
  /** Reads now, because the user is waiting. */
  readonly again: () => void;
  readonly close: () => void;
}

/** Reads at once and after each change, one reading at a time. */
export function startWatch({ read, now, after, longestMs = LONGEST_MS }: WatchEdges): Watch {
  let readAt = 0;
  let shortestMs = SHORTEST_MS;
  let reading = false;
  let wanted = false;
  let closed = false;
  let callOff = (): void => undefined;

  const readIn = (gapMs: number): void => {
    callOff();
    callOff = after(Math.max(0, readAt + gapMs - now()), () => void readOnce());
  };
  const readOnce = async (): Promise<void> => {
    callOff();
    reading = true;
    wanted = false;
    readAt = now();
    await read();
    reading = false;
    shortestMs = Math.max(SHORTEST_MS, REST * (now() - readAt));
    if (!closed) readIn(wanted ? shortestMs : Math.max(longestMs, shortestMs));
  };

  void readOnce();
  return {
    changed() {
      wanted = true;
      if (!reading && !closed) readIn(shortestMs);
    },
    again() {
      wanted = true;
      if (!reading && !closed) void readOnce();
    },
    close() {
      closed = true;
      callOff();
    },
  };
}
