import { isObject } from '#shared/objects.ts';
import type { ItemSource } from '../../translation/item-memory.ts';
import { isOwnItemId, NOT_ENCRYPTED } from '../../translation/responses/own-items.ts';
import { editedList, type Member, topLevelMembers, withMembers } from '../json-members.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * The body for an upstream that speaks the Responses API, without what only the gateway's translation understands:
 * thoughts that are not encrypted, and ids of items that no host has stored. References to such items become the items.
 */
export function withoutOwnItems(bytes: Buffer, items: ItemSource | null): Buffer {
  if (!MARKS.some((mark) => bytes.includes(mark))) return bytes;
  return editedInput(bytes, topLevelMembers(bytes), (item) => withoutOwn(item, items)) ?? bytes;
}

/** A thought that is not encrypted, and the beginnings of items' ids. */
const MARKS = [`"${NOT_ENCRYPTED}"`, '"rs_', '"msg_', '"fc_'].map((mark) => Buffer.from(mark));

/** Undefined if nothing is left of it. */
function withoutOwn(item: Json, items: ItemSource | null): Json | undefined {
  const { id, type, encrypted_content: thought } = item;
  if (type === 'reasoning' && thought === NOT_ENCRYPTED) return undefined;
  if (!isOwnItemId(id)) return item;
  if ((type ?? 'item_reference') !== 'item_reference' || 'role' in item) return withoutId(item);
  const known = items?.find(String(id));
  return isObject(known) ? withoutId(known) : item;
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

function editedInput(
  bytes: Buffer,
  members: readonly Member[],
  edit: (item: Json) => Json | undefined,
): Buffer | null {
  const list = members.find(({ key }) => key === 'input');
  if (list === undefined) return null;
  const words = ['"id"', '"reasoning"'];
  const input = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
  return input === null ? null : withMembers(bytes, members, { input });
}
