import { isObject } from '#shared/objects.ts';
import { isOwnItemId, type ItemSource, NOT_ENCRYPTED } from './item-memory.ts';
import { editedList, type Member, topLevelMembers, withMembers } from '../json-members.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * The body for an upstream that speaks the Responses API, without what only the gateway's translation understands:
 * thoughts that are not encrypted, and ids of items that no host has stored. References to such items become the
 * items. An engine of one's own keeps the thoughts, which it reads unencrypted (vLLM refuses encrypted ones).
 */
export function withoutOwnItems(
  bytes: Buffer,
  { items, isLocal }: { readonly items: ItemSource | null; readonly isLocal: boolean },
): Buffer {
  if (!MARKS.some((mark) => bytes.includes(mark))) return bytes;
  const thought = isLocal ? unencrypted : () => undefined;
  return editedInput(bytes, topLevelMembers(bytes), (item) => own(item, items, thought)) ?? bytes;
}

function unencrypted(item: Json): Json {
  const { encrypted_content: known, ...left } = item;
  return known === NOT_ENCRYPTED ? left : item;
}

/** A thought that is not encrypted, and the beginnings of items' ids. */
const MARKS = [`"${NOT_ENCRYPTED}"`, '"rs_', '"msg_', '"fc_'].map((mark) => Buffer.from(mark));

type Edit = (item: Json) => Json | undefined;

/** Undefined if nothing is left of it. */
function own(item: Json, items: ItemSource | null, thought: Edit): Json | undefined {
  const { id, type, encrypted_content: encrypted } = item;
  if (type === 'reasoning')
    return isOwnItemId(id) || encrypted === NOT_ENCRYPTED ? thought(item) : item;
  if (!isOwnItemId(id)) return item;
  if ((type ?? 'item_reference') !== 'item_reference' || 'role' in item) return withoutId(item);
  const known = items?.find(String(id));
  if (!isObject(known)) return item;
  return known['type'] === 'reasoning' ? thought(known) : withoutId(known);
}

/** Reasoning has no place without its id. */
function withoutId(item: Json): Json | undefined {
  if (item['type'] === 'reasoning') return undefined;
  const { id: _id, ...left } = item;
  return left;
}

/** The body without reasoning and without ids of items; null if it has none. */
export function withoutForeignItems(bytes: Buffer, members: readonly Member[]): Buffer | null {
  return editedInput(bytes, members, (item) =>
    item['type'] === 'item_reference' || !('id' in item || item['type'] === 'reasoning')
      ? item
      : withoutId(item),
  );
}

function editedInput(bytes: Buffer, members: readonly Member[], edit: Edit): Buffer | null {
  const list = members.find(({ key }) => key === 'input');
  if (list === undefined) return null;
  const words = ['"id"', '"reasoning"'];
  const input = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
  return input === null ? null : withMembers(bytes, members, { input });
}
