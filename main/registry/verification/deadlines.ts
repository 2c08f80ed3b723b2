import TinyQueue from 'tinyqueue';

/**
 * When each of many ids is due, with quick access to the earliest; equal deadlines keep the order in which they were
 * set.
 */
export interface Deadlines {
  /** Replaces the id's last deadline. */
  set(id: string, ticks: number): void;
  delete(id: string): void;
  /** Infinity if there is none. */
  earliestTicks(): number;
  /** Removes and returns the earliest that is at or before `nowTicks`; null if there is none. */
  takeDue(nowTicks: number): string | null;
}

interface Entry {
  readonly id: string;
  readonly ticks: number;
  /** Breaks ties: the deadline that was set first comes first. */
  readonly turn: number;
}

const byTicks = (a: Entry, b: Entry) => (a.ticks === b.ticks ? a.turn - b.turn : a.ticks - b.ticks);
/** Outdated entries stay in the queue until they are the earliest, or outnumber the current ones by more than this. */
const MAX_OUTDATED = 64;

export function createDeadlines(): Deadlines {
  const current = new Map<string, Entry>();
  let queue = new TinyQueue<Entry>([], byTicks);
  let lastTurn = 0;

  function earliest(): Entry | undefined {
    for (let entry = queue.peek(); entry !== undefined; entry = queue.peek()) {
      if (current.get(entry.id) === entry) return entry;
      queue.pop();
    }
    return undefined;
  }

  return {
    set(id, ticks) {
      const entry = { id, ticks, turn: (lastTurn += 1) };
      current.set(id, entry);
      queue.push(entry);
      if (queue.length <= 2 * current.size + MAX_OUTDATED) return;
      queue = new TinyQueue([...current.values()], byTicks);
    },
    delete: (id) => void current.delete(id),
    earliestTicks: () => earliest()?.ticks ?? Infinity,
    takeDue(nowTicks) {
      const entry = earliest();
      if (entry === undefined || entry.ticks > nowTicks) return null;
      queue.pop();
      current.delete(entry.id);
      return entry.id;
    },
  };
}
