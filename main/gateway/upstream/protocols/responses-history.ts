import { createHash } from 'node:crypto';
import { isObject } from '#shared/objects.ts';
import type { ItemSource } from '../../translation/item-memory.ts';
import { isOwnItemId, NOT_ENCRYPTED } from '../../translation/responses/own-items.ts';
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
  const thought = isLocal ? unencrypted : () => [];
  return editedInput(bytes, topLevelMembers(bytes), (item) => own(item, items, thought)) ?? bytes;
}

function unencrypted(item: Json): Json {
  const { encrypted_content: known, ...left } = item;
  return known === NOT_ENCRYPTED ? left : item;
}

/** A thought that is not encrypted, and the beginnings of items' ids. */
const MARKS = [`"${NOT_ENCRYPTED}"`, '"rs_', '"msg_', '"fc_'].map((mark) => Buffer.from(mark));

/** An empty list if nothing is left of it. */
type Edit = (item: Json) => Json | readonly Json[];

function own(item: Json, items: ItemSource | null, thought: Edit): ReturnType<Edit> {
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
function withoutId(item: Json): ReturnType<Edit> {
  if (item['type'] === 'reasoning') return [];
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

/** The body with ids of calls that are no longer than 64 characters, the same in a call and in its output; null if they are. */
export function withBoundedCallIds(bytes: Buffer, members: readonly Member[]): Buffer | null {
  return editedInput(bytes, members, shortened, ['"call_id"']);
}

function shortened(item: Json): Json {
  const { call_id: id } = item;
  if (typeof id !== 'string' || id.length <= 64) return item;
  const short = createHash('sha256').update(id).digest('hex').slice(0, 24);
  return { ...item, call_id: `call_${short}` };
}

/** The body without thoughts of which nothing came, neither words nor calls; null if it has none. */
export function withoutLoneThoughts(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const items: Json[] = [];
  const isLone = (at: number) => {
    const next = items.slice(at).find(({ type }) => type !== 'reasoning');
    return next?.['type'] !== 'function_call' && next?.['role'] !== 'assistant';
  };
  const note: Edit = (item) => {
    items.push(item);
    return item;
  };
  editedInput(bytes, members, note, EVERY);
  let at = 0;
  const edit: Edit = (item) => {
    at += 1;
    return item['type'] === 'reasoning' && isLone(at) ? [] : item;
  };
  return editedInput(bytes, members, edit, EVERY);
}

/** Each item has names. */
const EVERY: readonly string[] = ['"'];

function editedInput(
  bytes: Buffer,
  members: readonly Member[],
  edit: Edit,
  words: readonly string[] = ['"id"', '"reasoning"'],
): Buffer | null {
  const list = members.find(({ key }) => key === 'input');
  if (list === undefined) return null;
  const input = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
  return input === null ? null : withMembers(bytes, members, { input });
}
