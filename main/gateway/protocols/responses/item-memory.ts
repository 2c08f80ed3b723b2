import { listOf, memberOf } from '../../../platform/json.ts';

/** Of all callers; each finds only its own. */
export type ItemMemories = ReturnType<typeof createItemMemory>;
export type ItemMemory = ReturnType<ItemMemories['of']>;
export type ItemSource = Pick<ItemMemory, 'find'>;

export interface KeptItem {
  readonly id: string;
}

/** A map entry, with its key and the headers of its strings. */
const OVERHEAD_BYTES = 400;

/**
 * Keeps items of answers, because clients may send an item's id instead of the item. The oldest are dropped once all
 * together take more than `maxBytes`.
 */
export function createItemMemory(maxBytes: number) {
  /** As JSON, by caller and id: a string takes a fraction of the memory of the objects. */
  const kept = new Map<string, string>();
  let bytes = 0;

  const sizeOf = (json: string) => json.length * 2 + OVERHEAD_BYTES;

  function forget(key: string): void {
    const json = kept.get(key);
    if (json !== undefined) bytes -= sizeOf(json);
    kept.delete(key);
  }

  function keepOne(key: string, json: string): void {
    if (sizeOf(json) > maxBytes) return;
    forget(key);
    kept.set(key, json);
    bytes += sizeOf(json);
    for (const oldest of kept.keys()) {
      if (bytes <= maxBytes) break;
      forget(oldest);
    }
  }

  return {
    /** By the name of a caller's key; callers without one are one. */
    of(caller: string | null) {
      const keyOf = (id: string) => JSON.stringify([caller, id]);
      return {
        keep(items: readonly KeptItem[]) {
          for (const item of items) keepOne(keyOf(item.id), JSON.stringify(item));
        },
        /** Undefined if the item is not stored, or no longer stored. */
        find(id: string): unknown {
          const json = kept.get(keyOf(id));
          return json === undefined ? undefined : JSON.parse(json);
        },
      };
    },
  };
}

/** Callers without a key can refer to each other's items. Ids of hosts are random; some engines count. */
const RANDOM_ID = /^[a-z]{2,}_[\w-]{24,}$/;

/** The items of an upstream's own answer, or of the last event of its stream, that clients may refer to. */
export function itemsIn(value: unknown): readonly KeptItem[] {
  const answer = memberOf(value, 'response') ?? value;
  return listOf(memberOf(answer, 'output')).filter(isReferable);
}

function isReferable(item: unknown): item is KeptItem {
  const id = memberOf(item, 'id');
  return typeof id === 'string' && RANDOM_ID.test(id);
}

/** Ids of items in translated answers. Any caller that knows one can refer to the item, so they must not be guessable. */
export const itemId = (kind: 'rs' | 'msg' | 'fc', exchangeId: string, place: number): string =>
  `${kind}_${exchangeId}_${place}`;

/** Hosts write no hyphens in theirs. */
const OWN_ID = /^(rs|msg|fc)_[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}_\d+$/;
export const isOwnItemId = (id: unknown): boolean => typeof id === 'string' && OWN_ID.test(id);
