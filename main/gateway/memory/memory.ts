import { z } from 'zod';
import {
  type Clock,
  type DualTime,
  dualTimeOf,
  later,
  remainingMs,
  endsAtMs,
  wallMsSchema,
} from '../../platform/clock.ts';
import { isObject } from '../../platform/json.ts';
import { type Key, type Topic, TOPICS, type Values } from './topics.ts';

/** What was learnt of every upstream and machine. Nothing else forgets any of it. */
export type Memory = ReturnType<typeof createMemory>;

export function createMemory(clock: Clock) {
  const known = new Map<string, Knowledge>();

  function of(id: string): Knowledge {
    const before = known.get(id);
    if (before !== undefined) return before;
    const fresh = new Knowledge(clock);
    known.set(id, fresh);
    return fresh;
  }

  return {
    of,
    /** The upstreams and machines of which a topic is known. */
    ids: (topic: Topic): readonly string[] =>
      [...known].flatMap(([id, each]) => (each.count(topic) > 0 ? [id] : [])),
    /** It has another address, key, model or engine; what was counted stays. */
    forget(id: string) {
      const before = known.get(id);
      if (before !== undefined) known.set(id, before.lasting());
    },
    /** Its engine no longer has the prompts that it has read, but those of models that are still loaded. */
    emptied(id: string, isLoaded: (model: string) => boolean) {
      const emptied = known.get(id);
      emptied?.deleteWhere('prefixes', ({ model }) => !isLoaded(model));
      for (const { key, value } of emptied?.entries('turns') ?? [])
        if (!isLoaded(value.model)) emptied?.set('turns', key, { ...value, isUnloaded: true });
    },
    /** It was removed. */
    drop: (id: string) => void known.delete(id),
    save: (codecs: Codecs): unknown =>
      Object.fromEntries([...known].map(([id, each]) => [id, each.save(codecs)])),
    /** Takes the result of `save`, before the first request; anything else is ignored. */
    restore(saved: unknown, codecs: Codecs) {
      for (const [id, each] of Object.entries(isObject(saved) ? saved : {}))
        of(id).restore(each, codecs);
    },
  };
}

interface Entry<Value> {
  readonly value: Value;
  /** Null: until something ends it. */
  readonly until: DualTime | null;
}

type Entries = { readonly [T in Topic]: Map<Key, Entry<Values[T]>> };

const NAMES = Object.keys(TOPICS) as readonly Topic[];

/**
 * What is known of one upstream or machine. Whoever will learn something from a call takes it before the call: once the
 * upstream is another one, it has a new one, and what the call tells of the old one is lost.
 */
export class Knowledge {
  readonly #clock: Clock;
  readonly #entries = Object.fromEntries(
    NAMES.map((topic) => [topic, new Map()]),
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
    this.#put(topic, key, this.#entry(value, ms));
  }

  setAll<T extends Topic>(topic: T, keys: readonly Key[], value: Values[T]): void {
    const entry = this.#entry(value, TOPICS[topic].ms);
    for (const key of keys) this.#put(topic, key, entry);
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

  /** What holds, the one that was written longest ago first. */
  entries<T extends Topic>(topic: T): readonly (Entry<Values[T]> & { readonly key: Key })[] {
    const entries: Map<Key, Entry<Values[T]>> = this.#entries[topic];
    if (entries.size === 0) return [];
    return [...entries].flatMap(([key, entry]) => (this.#holds(entry) ? [{ key, ...entry }] : []));
  }

  /** What stays of it for another address or engine. */
  lasting(): Knowledge {
    const next = new Knowledge(this.#clock);
    for (const topic of NAMES)
      if (TOPICS[topic].lasts === true) next.#take(topic, this.entries(topic));
    return next;
  }

  save(codecs: Codecs): unknown {
    return Object.fromEntries(NAMES.map((topic) => [topic, this.#saved(topic, codecs[topic])]));
  }

  restore(saved: unknown, codecs: Codecs): void {
    if (!isObject(saved)) return;
    for (const topic of NAMES) this.#restore(topic, saved[topic], codecs[topic]);
  }

  #holds({ until }: Entry<unknown>): boolean {
    return until === null || remainingMs(until, dualTimeOf(this.#clock)) > 0;
  }

  #entry<Value>(value: Value, ms: number): Entry<Value> {
    return { value, until: ms === Infinity ? null : later(dualTimeOf(this.#clock), ms) };
  }

  #put<T extends Topic>(topic: T, key: Key, entry: Entry<Values[T]>): void {
    const entries: Map<Key, Entry<Values[T]>> = this.#entries[topic];
    // The first entry is the one that was written longest ago. A single one is replaced in its place, as deleted places add up.
    if (entries.size !== 1) entries.delete(key);
    entries.set(key, entry);
    for (const [oldest, each] of entries) {
      if (entries.size <= TOPICS[topic].max && this.#holds(each)) return;
      entries.delete(oldest);
    }
  }

  #take<T extends Topic>(topic: T, entries: ReturnType<typeof this.entries<T>>): void {
    for (const { key, ...entry } of entries) this.#put(topic, key, entry);
  }

  #saved<T extends Topic>(topic: T, codec: Codecs[T]): unknown {
    if (codec === undefined) return undefined;
    const now = dualTimeOf(this.#clock);
    return this.entries(topic).map(({ key, value, until }) => ({
      key,
      value: codec.encode(value, now),
      until: until === null ? null : encodeDeadline(until, now),
    }));
  }

  #restore<T extends Topic>(topic: T, saved: unknown, codec: Codecs[T]): void {
    const { ms } = TOPICS[topic];
    const now = dualTimeOf(this.#clock);
    const until = ms === Infinity ? z.null() : deadlineSchema(ms);
    const schema = z.object({ key: z.string(), value: z.unknown(), until });
    for (const each of Array.isArray(saved) ? saved : []) {
      const entry = schema.safeParse(each).data;
      const value = codec?.decode(entry?.value, now) ?? null;
      if (entry === undefined || value === null) continue;
      const end = entry.until === null ? null : decodeDeadline(entry.until, now);
      this.#put(topic, entry.key, { value, until: end });
    }
  }
}

/*
 * What outlives a restart, as plain JSON.
 *
 * A deadline is saved twice: as wall-clock time, so that the time while the process was down counts, and as
 * remaining milliseconds, so that a clock set back meanwhile cannot lengthen it. A clock set forward looks
 * like a long time down and ends it. Ticks are not saved: they mean nothing to the next process.
 */

/** How the values of a topic are saved. */
export interface Codec<Value> {
  readonly encode: (value: Value, now: DualTime) => unknown;
  /** Null if it is no saved value. */
  readonly decode: (saved: unknown, now: DualTime) => Value | null;
}

/** The topics that are saved. */
export type Codecs = { readonly [T in Topic]?: Codec<Values[T]> };

/** For values that are plain JSON. */
export function plain<Value>(schema: z.ZodType<Value>): Codec<Value> {
  return { encode: (value) => value, decode: (saved) => schema.safeParse(saved).data ?? null };
}

export const deadlineSchema = (longestMs: number) =>
  z.strictObject({ wallMs: wallMsSchema, leftMs: z.number().min(0).max(longestMs) });

type SavedDeadline = Readonly<z.infer<ReturnType<typeof deadlineSchema>>>;

export function encodeDeadline(deadline: DualTime, now: DualTime): SavedDeadline {
  return { wallMs: endsAtMs(deadline, now), leftMs: remainingMs(deadline, now) };
}

export function decodeDeadline(saved: SavedDeadline, now: DualTime): DualTime {
  const ms = Math.min(saved.wallMs - now.wallMs, saved.leftMs);
  const deadline = { ticks: now.ticks + ms, wallMs: saved.wallMs };
  return { ...deadline, wallMs: endsAtMs(deadline, now) };
}
