/** First come, first served for each caller, and the callers in turn. */
export interface FairQueue<T> {
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
