import { type Clock, type DualTime, dualTimeOf, later, remainingMs } from '../../platform/clock.ts';
import { type Key, type Topic, TOPICS, type Values } from './topics.ts';

/** What was learnt of every upstream and machine. Nothing else forgets any of it. */
export type Memory = ReturnType<typeof createMemory>;

export function createMemory(clock: Clock) {
  const known = new Map<string, Knowledge>();
  return {
    of(id: string): Knowledge {
      const before = known.get(id);
      if (before !== undefined) return before;
      const fresh = new Knowledge(clock);
      known.set(id, fresh);
      return fresh;
    },
    /** All that is known of a topic, of every upstream. */
    all: <T extends Topic>(topic: T): readonly (readonly [Key, Values[T]])[] =>
      [...known.values()].flatMap((each) => each.entries(topic)),
    /** It has another address, key, model or engine. */
    forget: (id: string) => void known.delete(id),
    /** Its engine no longer has the prompts that it has read, but those of models that are still loaded. */
    emptied(id: string, isLoaded: (model: string) => boolean) {
      known.get(id)?.deleteWhere('prefixes', ({ model }) => !isLoaded(model));
    },
    /** It was removed. */
    drop: (id: string) => void known.delete(id),
  };
}

interface Entry<Value> {
  readonly value: Value;
  readonly until: DualTime;
}

type Entries = { readonly [T in Topic]: Map<Key, Entry<Values[T]>> };

/**
 * What is known of one upstream or machine. Whoever will learn something from a call takes it before the call: once the
 * upstream is another one, it has a new one, and what the call tells of the old one is lost.
 */
export class Knowledge {
  readonly #clock: Clock;
  readonly #entries = Object.fromEntries(
    Object.keys(TOPICS).map((topic) => [topic, new Map()]),
  ) as unknown as Entries;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Null while unknown. The topic of one entry has no key. */
  get<T extends Topic>(topic: T, key: Key = ''): Values[T] | null {
    const entry = this.#entries[topic].get(key);
    return entry !== undefined && this.#holds(entry) ? entry.value : null;
  }

  set<T extends Topic>(topic: T, key: Key, value: Values[T], ms = TOPICS[topic].ms): void {
    this.setAll(topic, [key], value, ms);
  }

  setAll<T extends Topic>(
    topic: T,
    keys: readonly Key[],
    value: Values[T],
    ms = TOPICS[topic].ms,
  ): void {
    const entries: Map<Key, Entry<Values[T]>> = this.#entries[topic];
    const entry = { value, until: later(dualTimeOf(this.#clock), ms) };
    for (const key of keys) {
      // The first entry is the one that was written longest ago.
      entries.delete(key);
      entries.set(key, entry);
    }
    for (const [oldest, each] of entries) {
      if (entries.size <= TOPICS[topic].max && this.#holds(each)) return;
      entries.delete(oldest);
    }
  }

  delete(topic: Topic, key: Key = ''): void {
    this.#entries[topic].delete(key);
  }

  deleteWhere<T extends Topic>(topic: T, isGone: (value: Values[T]) => boolean): void {
    const entries: Map<Key, Entry<Values[T]>> = this.#entries[topic];
    for (const [key, { value }] of entries) if (isGone(value)) entries.delete(key);
  }

  /** How many entries there are, those that have ended but for the last ones. */
  count(topic: Topic): number {
    return this.#entries[topic].size;
  }

  /** The keys that hold, the one that was written longest ago first. */
  keys(topic: Topic): readonly Key[] {
    return this.entries(topic).map(([key]) => key);
  }

  entries<T extends Topic>(topic: T): readonly (readonly [Key, Values[T]])[] {
    const entries: Map<Key, Entry<Values[T]>> = this.#entries[topic];
    return [...entries].flatMap(([key, entry]) =>
      this.#holds(entry) ? [[key, entry.value] as const] : [],
    );
  }

  #holds({ until }: Entry<unknown>): boolean {
    return remainingMs(until, dualTimeOf(this.#clock)) > 0;
  }
}
