import { createHash } from 'node:crypto';
import { isObject, isTooDeep, parseExactJson } from '../../platform/json.ts';
import { JsonScan, type Member, type Span } from './json-scan.ts';

type Json = Readonly<Record<string, unknown>>;

const QUOTE = 0x22;
const CLOSE_BRACE = 0x7d;

/** Longer values are not parsed by `smallValueOf`. */
const MAX_SMALL_BYTES = 64 * 1024;

/** In place of a value that is too long to be parsed. */
export const TOO_LONG = Symbol('too long');

/** Undefined if there is no such member, `TOO_LONG` for a long value. */
export function smallValueOf(bytes: Buffer, members: readonly Member[], key: string): unknown {
  const member = members.findLast((each) => each.key === key);
  return member === undefined ? undefined : smallValueAt(bytes, member);
}

/** As `smallValueOf`, of several members. */
export function smallValuesOf(
  bytes: Buffer,
  members: readonly Member[],
  keys: readonly string[],
): unknown[] {
  return keys.map((key) => smallValueOf(bytes, members, key));
}

export function smallValueAt(bytes: Buffer, { start, end }: Span): unknown {
  if (end - start > MAX_SMALL_BYTES) return TOO_LONG;
  return JSON.parse(bytes.toString('utf8', start, end)) as unknown;
}

export function isText(bytes: Buffer, { start }: Span): boolean {
  return bytes[start] === QUOTE;
}

/** `bytes` with another value of one member, which it has, and where its members are then. */
export function withValue(
  bytes: Buffer,
  members: readonly Member[],
  [key, value]: readonly [key: string, value: string],
): { readonly bytes: Buffer; readonly members: readonly Member[] } {
  const changed = withMembers(bytes, members, { [key]: value });
  const behind = members.find((each) => each.key === key)?.end ?? bytes.length;
  const by = changed.length - bytes.length;
  return {
    bytes: changed,
    members: members.map((member) => {
      if (member.key === key) return { ...member, end: member.end + by };
      return member.start < behind ? member : shifted(member, by);
    }),
  };
}

function shifted({ last, ...member }: Member, by: number): Member {
  return {
    ...member,
    nameStart: member.nameStart + by,
    start: member.start + by,
    end: member.end + by,
    last: last === null ? null : { start: last.start + by, end: last.end + by },
  };
}

/** The object without some of its members; the bytes of all others stay. */
export function withoutMembers(
  bytes: Buffer,
  members: readonly Member[],
  isDropped: (member: Member) => boolean,
): Buffer {
  const kept = members.filter((member) => !isDropped(member));
  if (kept.length === members.length) return bytes;
  return joined(
    '{}',
    kept.map(({ nameStart, end }) => bytes.subarray(nameStart, end)),
  );
}

/** The elements of a list; none if it is no list. */
export function elementsOf(bytes: Buffer, { start, end }: Span): readonly Span[] {
  const scan = new JsonScan('list');
  scan.push(bytes.subarray(start, end));
  return scan.members.map((each) => ({ start: start + each.start, end: start + each.end }));
}

/**
 * A list whose elements `edit` changes, each parsed: it returns the same value to keep the element's bytes, another
 * to replace it, or a list of those to stand in its place, of which an empty one drops it. Only elements with one of the `words` in them are parsed, and only those
 * that are not too heavy. Null if nothing changes.
 */
export function editedList(
  bytes: Buffer,
  list: Span,
  words: readonly string[],
  edit: (element: unknown, at: number, isLast: boolean) => unknown,
): Buffer | null {
  let isChanged = false;
  const parts: Buffer[] = [];
  const elements = elementsOf(bytes, list);
  for (const [at, { start, end }] of elements.entries()) {
    const own = bytes.subarray(start, end);
    const before = words.some((word) => own.includes(word))
      ? parseExactJson(own.toString('utf8'))
      : undefined;
    const isEdited = before !== undefined && !isTooDeep(before);
    const after = isEdited ? edit(before, at, at === elements.length - 1) : before;
    if (after !== before) isChanged = true;
    if (after === before) parts.push(own);
    else parts.push(...(Array.isArray(after) ? after : [after]).map(written));
  }
  return isChanged ? joined('[]', parts) : null;
}

/** A change of a body; null if there is nothing to change. */
export type BodyChange = (bytes: Buffer, members: readonly Member[]) => Buffer | null;

/** As `editedList`, of the objects in the list that the body has as `key`. */
export function editedObjects(
  key: string,
  words: readonly string[],
  edit: (element: Json, at: number, isLast: boolean) => Json | readonly Json[],
): BodyChange {
  return (bytes, members) => {
    const list = members.find((member) => member.key === key);
    if (list === undefined) return null;
    const edited = editedList(bytes, list, words, (each, at, isLast) =>
      isObject(each) ? edit(each, at, isLast) : each,
    );
    return edited === null ? null : withMembers(bytes, members, { [key]: edited });
  };
}

/** `edit` on each object in a list; the list itself if nothing changes. */
export function editedEach<T>(
  list: readonly T[],
  edit: (element: Json) => Json,
): readonly (T | Json)[] {
  const edited = list.map((each) => (isObject(each) ? edit(each) : each));
  return edited.every((each, at) => each === list[at]) ? list : edited;
}

/** The beginning of a digest of an id of a call that an upstream does not take: the same in a call and in its result. */
export const hashedId = (id: string, length: number): string =>
  createHash('sha256').update(id).digest('hex').slice(0, length);

const written = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Elements or members within brackets or braces. */
function joined(brackets: '[]' | '{}', parts: readonly Buffer[]): Buffer {
  const comma = Buffer.from(',');
  const list = parts.flatMap((part, at) => (at === 0 ? [part] : [comma, part]));
  return Buffer.concat([
    Buffer.from(brackets.slice(0, 1)),
    ...list,
    Buffer.from(brackets.slice(1)),
  ]);
}

/**
 * Sets members of the outermost object and leaves all other bytes unchanged: key order, number spelling, escapes
 * and white space survive, unlike with parse and stringify.
 */
export function withMembers(
  bytes: Buffer,
  members: readonly Member[],
  values: Readonly<Record<string, string | Buffer>>,
): Buffer {
  const parts: Buffer[] = [];
  let copied = 0;
  const missing = new Set(Object.keys(values));
  for (const { key, start, end } of members) {
    // The caller may use a name that every object inherits.
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value === undefined) continue;
    parts.push(bytes.subarray(copied, start), asBytes(value));
    copied = end;
    missing.delete(key);
  }
  if (missing.size === 0) return Buffer.concat([...parts, bytes.subarray(copied)]);
  const close = bytes.lastIndexOf(CLOSE_BRACE);
  const added = [...missing]
    .map((key) => `${JSON.stringify(key)}:${values[key]?.toString()}`)
    .join(',');
  const comma = members.length === 0 ? '' : ',';
  return Buffer.concat([
    ...parts,
    bytes.subarray(copied, close),
    Buffer.from(comma + added),
    bytes.subarray(close),
  ]);
}

const asBytes = (value: string | Buffer): Buffer =>
  typeof value === 'string' ? Buffer.from(value) : value;
