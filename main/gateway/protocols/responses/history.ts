import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import type { JsonBody } from '../json-edit.ts';
import { editedObjects } from '../turns.ts';

type Json = Readonly<Record<string, unknown>>;

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

/** In place of encrypted reasoning; see `reasoningFields`. */
export const NOT_ENCRYPTED = 'unencrypted';

/** Ids of items in translated answers. Any caller that knows one can refer to the item, so they must not be guessable. */
export const itemId = (kind: 'rs' | 'msg' | 'fc', exchangeId: string, place: number): string =>
  `${kind}_${exchangeId}_${place}`;

/** Hosts write no hyphens in theirs. */
const OWN_ID = /^(rs|msg|fc)_[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}_\d+$/;
const isOwnItemId = (id: unknown): boolean => typeof id === 'string' && OWN_ID.test(id);

/**
 * The body for an upstream that speaks the Responses API, without what only the gateway's translation understands:
 * thoughts that are not encrypted, and ids of items that no host has stored. References to such items become the
 * items. An engine of one's own keeps both: it reads thoughts unencrypted, and minds no id, but vLLM wants one
 * (openai/codex#12669).
 */
export function withoutOwnItems(
  body: JsonBody,
  { items, isLocal }: { readonly items: ItemSource | null; readonly isLocal: boolean },
): JsonBody {
  if (!MARKS.some((mark) => body.bytes.includes(mark))) return body;
  const kept = isLocal ? unencrypted : withoutId;
  const edited = editedObjects('input', ['"id"', '"reasoning"'], (item) => own(item, items, kept));
  return edited(body) ?? body;
}

function unencrypted(item: Json): Json {
  const { encrypted_content: known, ...left } = item;
  return known === NOT_ENCRYPTED ? left : item;
}

/** A thought that is not encrypted, and the beginnings of items' ids. */
const MARKS = [`"${NOT_ENCRYPTED}"`, '"rs_', '"msg_', '"fc_'].map((mark) => Buffer.from(mark));

type Edit = Parameters<typeof editedObjects>[2];

function own(item: Json, items: ItemSource | null, kept: (item: Json) => ReturnType<Edit>) {
  const { id, type, encrypted_content: encrypted } = item;
  if (!isOwnItemId(id) && encrypted !== NOT_ENCRYPTED) return item;
  if ((type ?? 'item_reference') !== 'item_reference' || 'role' in item) return kept(item);
  const known = items?.find(String(id));
  return isObject(known) ? kept(known) : item;
}

/** Reasoning has no place without its id. */
function withoutId({ id: _id, ...item }: Json): ReturnType<Edit> {
  return item['type'] === 'reasoning' ? [] : item;
}
