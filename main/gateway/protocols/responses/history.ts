import { isObject, listOf, memberOf } from '../../../platform/json.ts';
import {
  type BodyChange,
  editedObjects,
  hashedId,
  smallValueOf,
  withMembers,
} from '../json-edit.ts';
import { topLevelMembers } from '../json-scan.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ItemSource {
  /** Undefined if the item is not stored, or no longer stored. */
  find(id: string): unknown;
}

/** Keeps items of answers, because clients may send an item's id instead of the item. */
export interface ItemMemory extends ItemSource {
  keep(items: readonly KeptItem[]): void;
}

export interface KeptItem {
  readonly id: string;
}

/** A map entry, with its key and the headers of its strings. */
const OVERHEAD_BYTES = 400;

/** The oldest items are dropped once all items together take more than `maxBytes`. */
export function createItemMemory(maxBytes: number): ItemMemory {
  /** As JSON: a string takes a fraction of the memory of the objects. */
  const kept = new Map<string, string>();
  let bytes = 0;

  const sizeOf = (json: string) => json.length * 2 + OVERHEAD_BYTES;

  function forget(id: string, json: string): void {
    kept.delete(id);
    bytes -= sizeOf(json);
  }

  function keepOne(item: KeptItem): void {
    const json = JSON.stringify(item);
    const size = sizeOf(json);
    if (size > maxBytes) return;
    const before = kept.get(item.id);
    if (before !== undefined) forget(item.id, before);
    for (const [id, oldest] of kept) {
      if (bytes + size <= maxBytes) break;
      forget(id, oldest);
    }
    kept.set(item.id, json);
    bytes += size;
  }

  return {
    keep(items) {
      for (const item of items) keepOne(item);
    },
    find(id) {
      const json = kept.get(id);
      return json === undefined ? undefined : (JSON.parse(json) as unknown);
    },
  };
}

/** Any caller that knows an id can refer to its item. Ids of hosts are random; some engines count. */
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
export function isOwnItemId(id: unknown): boolean {
  return (
    typeof id === 'string' && /^(rs|msg|fc)_[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}_\d+$/.test(id)
  );
}

/**
 * The body for an upstream that speaks the Responses API, without what only the gateway's translation understands:
 * thoughts that are not encrypted, and ids of items that no host has stored. References to such items become the
 * items. An engine of one's own keeps both: it reads thoughts unencrypted, and minds no id, but vLLM wants one
 * (openai/codex#12669).
 */
export function withoutOwnItems(
  bytes: Buffer,
  { items, isLocal }: { readonly items: ItemSource | null; readonly isLocal: boolean },
): Buffer {
  if (!MARKS.some((mark) => bytes.includes(mark))) return bytes;
  const kept = isLocal ? unencrypted : withoutId;
  return editedInput((item) => own(item, items, kept))(bytes, topLevelMembers(bytes)) ?? bytes;
}

function unencrypted(item: Json): Json {
  const { encrypted_content: known, ...left } = item;
  return known === NOT_ENCRYPTED ? left : item;
}

/** A thought that is not encrypted, and the beginnings of items' ids. */
const MARKS = [`"${NOT_ENCRYPTED}"`, '"rs_', '"msg_', '"fc_'].map((mark) => Buffer.from(mark));

/** An empty list if nothing is left of it. */
type Edit = (item: Json) => Json | readonly Json[];

function own(item: Json, items: ItemSource | null, kept: Edit): ReturnType<Edit> {
  const { id, type, encrypted_content: encrypted } = item;
  if (!isOwnItemId(id) && encrypted !== NOT_ENCRYPTED) return item;
  if ((type ?? 'item_reference') !== 'item_reference' || 'role' in item) return kept(item);
  const known = items?.find(String(id));
  return isObject(known) ? kept(known) : item;
}

/** Reasoning has no place without its id. */
function withoutId(item: Json): ReturnType<Edit> {
  return item['type'] === 'reasoning' ? [] : sansId(item);
}

function sansId(item: Json): Json {
  const { id: _id, ...left } = item;
  return left;
}

/** The body without ids of items, and without thoughts that are nothing without theirs; null if it has none. */
export const withoutItemIds = editedInput((item) => {
  const { id, type, encrypted_content: sealed } = item;
  if (type === 'item_reference' || (id === undefined && type !== 'reasoning')) return item;
  if (type !== 'reasoning' || typeof sealed !== 'string' || sealed === '') return withoutId(item);
  return id === undefined ? item : sansId(item);
});

/** The body with thoughts as far as they are told, and none that is encrypted; null if it has none of those. */
export const withoutEncrypted = editedInput((item) => {
  const { encrypted_content: sealed, ...told } = item;
  if (item['type'] !== 'reasoning' || (sealed ?? '') === '') return item;
  return [item['summary'], item['content']].some((parts) => listOf(parts).length > 0) ? told : [];
});

/** The body with the summaries of thoughts as the thoughts themselves, and none without any; null if all are told. */
export const withToldThoughts = editedInput((item) => {
  const { type, content, summary } = item;
  if (type !== 'reasoning' || listOf(content).length > 0) return item;
  const told = listOf(summary).map((part) => ({
    type: 'reasoning_text',
    text: memberOf(part, 'text'),
  }));
  return told.length > 0 ? { ...item, content: told } : [];
});

/** The body that does not ask for encrypted thoughts; null if it does not. */
export const withoutEncryption: BodyChange = (bytes, members) => {
  const asked = listOf(smallValueOf(bytes, members, 'include'));
  const left = asked.filter((each) => each !== 'reasoning.encrypted_content');
  if (left.length === asked.length) return null;
  return withMembers(bytes, members, { include: JSON.stringify(left) });
};

/** The body without reasoning and without ids of items; null if it has none. */
export const withoutForeignItems = editedInput((item) =>
  item['type'] === 'item_reference' || !('id' in item || item['type'] === 'reasoning')
    ? item
    : withoutId(item),
);

/** The body with ids of calls that are no longer than 64 characters, the same in a call and in its output; null if they are. */
export const withBoundedCallIds = editedInput(
  (item) => {
    const { call_id: id } = item;
    if (typeof id !== 'string' || id.length <= 64) return item;
    return { ...item, call_id: `call_${hashedId(id, 24)}` };
  },
  ['"call_id"'],
);

/** The body without thoughts of which nothing came, neither words nor calls; null if it has none. */
export const withoutLoneThoughts: BodyChange = (bytes, members) => {
  const items: Json[] = [];
  const isLone = (at: number) => {
    const next = items.slice(at).find(({ type }) => type !== 'reasoning');
    return next?.['type'] !== 'function_call' && next?.['role'] !== 'assistant';
  };
  const note: Edit = (item) => {
    items.push(item);
    return item;
  };
  editedInput(note, EVERY)(bytes, members);
  let at = 0;
  const edit: Edit = (item) => {
    at += 1;
    return item['type'] === 'reasoning' && isLone(at) ? [] : item;
  };
  return editedInput(edit, EVERY)(bytes, members);
};

/** Each item has names. */
const EVERY: readonly string[] = ['"'];

function editedInput(edit: Edit, words: readonly string[] = ['"id"', '"reasoning"']): BodyChange {
  return editedObjects('input', words, edit);
}
