import type { CancelSignal, Clock } from '../../platform/clock.ts';

/** Limits the requests that run at the same time; more of them wait for a moment. */
export type Admission = ReturnType<typeof createAdmission>;

export interface Place {
  /** False while all places are taken or others wait for one. */
  tryEnter(): boolean;
  /** Waits for a place; `left` once `signal` aborts. Callers are served in turn. */
  wait(caller: string, signal: CancelSignal): Promise<'entered' | 'refused' | 'left'>;
  /** Gives back the place, if it was entered. */
  leave(): void;
}

export interface AdmissionView {
  readonly running: number;
  readonly queued: number;
  readonly limit: number;
  /** Since the start. */
  readonly refused: number;
}

interface AdmissionDeps {
  readonly clock: Clock;
  readonly limit: () => number;
  readonly changed: () => void;
}

/** Longer than a burst lasts, and short enough that a client tries again rather than gives up. */
const MAX_WAIT_MS = 10_000;
/** Their bodies are held in memory; more than this would not be served within the wait. */
const MAX_QUEUED = { total: 1000, perCaller: 100 };

export function createAdmission({ clock, limit, changed }: AdmissionDeps) {
  const queue = createFairQueue<() => void>(MAX_QUEUED);
  let running = 0;
  let refused = 0;

  function admitNext(): void {
    while (queue.size() > 0 && running < limit()) {
      const enter = queue.shift();
      if (enter === undefined) return;
      running += 1;
      enter();
    }
  }

  function wait(caller: string, signal: CancelSignal): ReturnType<Place['wait']> {
    if (signal.aborted) return Promise.resolve('left');
    return new Promise((resolve) => {
      const settle = (result: 'entered' | 'refused' | 'left') => {
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
        if (result !== 'entered') queue.remove(caller, onTurn);
        if (result === 'refused') refused += 1;
        changed();
        resolve(result);
      };
      const onTurn = () => settle('entered');
      const onAbort = () => settle('left');
      const cancelTimer = clock.after(MAX_WAIT_MS, () => settle('refused'));
      signal.addEventListener('abort', onAbort);
      if (!queue.push(caller, onTurn)) settle('refused');
      else changed();
      // The limit may have been raised.
      admitNext();
    });
  }

  return {
    place(): Place {
      let isHeld = false;
      return {
        tryEnter() {
          isHeld = queue.size() === 0 && running < limit();
          if (isHeld) running += 1;
          return isHeld;
        },
        async wait(caller, signal) {
          const result = await wait(caller, signal);
          isHeld = result === 'entered';
          return result;
        },
        leave() {
          if (!isHeld) return;
          isHeld = false;
          running -= 1;
          admitNext();
        },
      };
    },
    view: (): AdmissionView => ({ running, queued: queue.size(), limit: limit(), refused }),
  };
}

/** First come, first served for each caller, and the callers in turn. */
interface FairQueue<T> {
  /** False if there is no room. */
  push(caller: string, item: T): boolean;
  /** Removes the next one; undefined when none waits. */
  shift(): T | undefined;
  remove(caller: string, item: T): void;
  size(): number;
}

interface Bounds {
  readonly total: number;
  readonly perCaller: number;
}

export function createFairQueue<T>({ total, perCaller }: Bounds): FairQueue<T> {
  /** In the order of their turns; none is empty. */
  const queues = new Map<string, T[]>();
  let size = 0;
  return {
    push(caller, item) {
      const queue = queues.get(caller) ?? [];
      if (size >= total || queue.length >= perCaller) return false;
      queue.push(item);
      queues.set(caller, queue);
      size += 1;
      return true;
    },
    shift() {
      const [turn] = queues;
      if (turn === undefined) return undefined;
      const [caller, queue] = turn;
      const item = queue.shift();
      size -= 1;
      queues.delete(caller);
      if (queue.length > 0) queues.set(caller, queue);
      return item;
    },
    remove(caller, item) {
      const queue = queues.get(caller);
      const at = queue?.indexOf(item) ?? -1;
      if (queue === undefined || at === -1) return;
      queue.splice(at, 1);
      size -= 1;
      if (queue.length === 0) queues.delete(caller);
    },
    size: () => size,
  };
}
