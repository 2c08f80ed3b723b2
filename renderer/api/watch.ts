/** Between two readings that a change asked for. */
const SHORTEST_MS = 2_000;
/** So many times as long as a reading took: what is large, such as thousands of machines, is read less often. */
const REST = 8;
const LONGEST_MS = 15_000;

interface WatchEdges {
  /** Reads once; never fails. */
  readonly read: () => Promise<void>;
  readonly now: () => number;
  /** Runs something later; answers how to call it off. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Between two readings when nothing is said to have changed; also the pause after a failure. */
  readonly longestMs?: number;
}

/** Something that is read again as it changes. */
export interface Watch {
  /** It changed: read it soon. */
  readonly changed: () => void;
  /** Somebody is waiting for it: read it now. */
  readonly again: () => void;
  readonly close: () => void;
}

/** Reads at once, then after changes, one reading at a time. */
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
