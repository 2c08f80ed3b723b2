import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isObject, parseExactJson } from '../../platform/json.ts';
import { createJsonScanner, type JsonListener } from '../../platform/json-scanner.ts';

/** Position of a value in the bytes of a JSON text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  readonly key: string;
  readonly nameStart: number;
  /** The last element if the value is a non-empty list. */
  readonly last: Span | null;
  /** Where the elements of a list end, from its start on; of a body only the first 4,096 in all. */
  readonly ends: readonly number[];
}

export type Members =
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  /** JSON, but not an object. */
  | { readonly kind: 'other' }
  /** Not JSON from byte `position` on. */
  | { readonly kind: 'invalid'; readonly position: number }
  /** Too many members, too long a name or too deep a nest. */
  | { readonly kind: 'too_much' };

const QUOTE = 0x22;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Scanning this many bytes takes a millisecond or two; longer bodies are read over several turns of the event loop. */
export const MAX_BYTES_AT_ONCE = 256 * 1024;
/** A request has about forty. A million would take 100 MB. */
const MAX_MEMBERS = 10_000;
const MAX_KEY_BYTES = 64 * 1024;
/** More messages than conversations have. */
const MAX_ENDS = 4096;
/** What has the same characters in UTF-8 as in Latin-1. */
const ASCII = /^[\x20-\x7e]*$/;
/** Of a value that is no list; one for all. */
const NO_ENDS: number[] = [];

/** The members of the outermost object, in one go. */
export function membersOf(bytes: Buffer): Members {
  const scan = createMemberScan(bytes);
  scan.scanner.push(bytes);
  return scan.result();
}

/** As `membersOf`, in slices with a turn of the event loop after each. */
export async function membersInTurns(
  bytes: Buffer,
  nextTurn: () => Promise<unknown> = () => setImmediate(),
): Promise<Members> {
  const scan = createMemberScan(bytes);
  for (let from = 0; from < bytes.length; from += MAX_BYTES_AT_ONCE) {
    if (from > 0) await nextTurn();
    if (!scan.scanner.push(bytes.subarray(from, from + MAX_BYTES_AT_ONCE))) break;
    if (scan.isTooMuch()) break;
  }
  return scan.result();
}

/** As `membersOf`; none if the text is not an object. */
export function topLevelMembers(bytes: Buffer): readonly Member[] {
  const found = membersOf(bytes);
  return found.kind === 'object' ? found.members : [];
}

function createMemberScan(bytes: Buffer) {
  const members: Member[] = [];
  let root = 0;
  let isTooMuch = false;
  let last: Span | null = null;
  let ends = NO_ENDS;
  let keptEnds = 0;
  const listener: JsonListener = {
    onEnd({ outer, depth, name, nameStart, nameEnd, first, start }, end) {
      if (depth === 2 && outer?.first === OPEN_BRACKET) {
        last = { start, end };
        if ((keptEnds += 1) > MAX_ENDS) return;
        if (ends === NO_ENDS) ends = [end - outer.start];
        else ends.push(end - outer.start);
      }
      if (depth === 0) root = first;
      if (depth !== 1) return;
      const member = { key: '', nameStart, start, end, last, ends };
      last = null;
      ends = NO_ENDS;
      if (outer?.first !== OPEN_BRACE || isTooMuch) return;
      isTooMuch = members.length === MAX_MEMBERS || nameEnd - nameStart > MAX_KEY_BYTES;
      if (isTooMuch) return;
      // The scanner leaves out long names, and reads bytes beyond ASCII one by one.
      member.key =
        name !== null && ASCII.test(name)
          ? name
          : (JSON.parse(bytes.toString('utf8', nameStart, nameEnd)) as string);
      members.push(member);
    },
  };
  const scanner = createJsonScanner(listener, 3);
  return {
    scanner,
    isTooMuch: () => isTooMuch,
    result(): Members {
      if (isTooMuch || scanner.isTooDeep()) return { kind: 'too_much' };
      if (!scanner.end()) return { kind: 'invalid', position: scanner.position() };
      return root === OPEN_BRACE ? { kind: 'object', members } : { kind: 'other' };
    },
  };
}

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
  const elements: Span[] = [];
  const listener: JsonListener = {
    onEnd({ outer, start: from }, to) {
      if (outer?.first === OPEN_BRACKET) elements.push({ start: start + from, end: start + to });
    },
  };
  createJsonScanner(listener, 2).push(bytes.subarray(start, end));
  return elements;
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
  edit: (element: unknown) => unknown,
): Buffer | null {
  let isChanged = false;
  const parts: Buffer[] = [];
  for (const { start, end } of elementsOf(bytes, list)) {
    const own = bytes.subarray(start, end);
    const before = words.some((word) => own.includes(word))
      ? parseExactJson(own.toString('utf8'))
      : null;
    const after = before === null || before === undefined ? before : edit(before);
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
  edit: (element: Json) => Json | readonly Json[],
): BodyChange {
  return (bytes, members) => {
    const list = members.find((member) => member.key === key);
    if (list === undefined) return null;
    const edited = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
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

type Json = Readonly<Record<string, unknown>>;

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
