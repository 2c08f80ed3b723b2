import type { ByteBuffer } from '../../platform/byte-buffer.ts';
import { isObject, isTooDeep, parseExactJson } from '../../platform/json.ts';
import type { Substance } from './chat/content.ts';
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
  const by = changed.length - bytes.length;
  const own = members.find((each) => each.key === key);
  const moved = ({ start, end }: Span) => ({ start: start + by, end: end + by });
  const after = members.map((member) => {
    if (member === own) return { ...member, end: member.end + by };
    if (own === undefined || member.start < own.end) return member;
    const { nameStart, last } = member;
    return { ...member, ...moved(member), nameStart: nameStart + by, last: last && moved(last) };
  });
  return { bytes: changed, members: after };
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
    ['{', '}'],
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
 * to replace it, or a list of those to stand in its place, of which an empty one drops it. Only elements with one of the
 * `words` in them are parsed, and only those that are not too heavy. Null if nothing changes.
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
    else for (const each of [after].flat()) parts.push(Buffer.from(JSON.stringify(each)));
  }
  return isChanged ? joined(['[', ']'], parts) : null;
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

/** Elements or members within brackets or braces. */
function joined([open, close]: readonly [string, string], parts: readonly Buffer[]): Buffer {
  const list = parts.flatMap((part, at) => [Buffer.from(at === 0 ? open : ','), part]);
  return Buffer.concat([...(list.length === 0 ? [Buffer.from(open)] : list), Buffer.from(close)]);
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
    const written = typeof value === 'string' ? Buffer.from(value) : value;
    parts.push(bytes.subarray(copied, start), written);
    copied = end;
    missing.delete(key);
  }
  if (missing.size === 0) return Buffer.concat([...parts, bytes.subarray(copied)]);
  const close = bytes.lastIndexOf(CLOSE_BRACE);
  const added = [...missing].map((key) => `${JSON.stringify(key)}:${values[key]?.toString()}`);
  const inserted = [...(members.length === 0 ? [] : ['']), ...added].join(',');
  return Buffer.concat([
    ...parts,
    bytes.subarray(copied, close),
    Buffer.from(inserted),
    bytes.subarray(close),
  ]);
}

/** Judges a whole answer of any size while it arrives. */
export interface AnswerScan {
  /** False once the body, as far as it has come, is not JSON. */
  push(body: ByteBuffer): boolean;
  /** As `substanceOf` judges the parsed answer, its whole body; null if it is not JSON. Asked at the end. */
  substance(body: Buffer): Substance['kind'] | null;
  /** The answer, where it was small enough to be parsed for that; else undefined. */
  value?(): unknown;
}

/** Whether the member that makes an object an answer has the value that it should have. */
type Wanted = (first: string, member: Member) => boolean;

export const LIST: Wanted = (first, { last }) => first === '[' && last !== null;
export const ANY_LIST: Wanted = (first) => first === '[';
export const TEXT: Wanted = (first) => first === '"';
export const NUMBER: Wanted = (first) => /\d/.test(first);

/**
 * Takes an object for an answer by one of its outermost members, without parsing it: an answer has one of the
 * `wanted` members, and no error.
 */
export function createMemberScan(wanted: Readonly<Record<string, Wanted>>): AnswerScan {
  const scan = new JsonScan('object');
  return {
    push: (body) => scan.push(body.view()),
    substance(body) {
      const found = scan.end(body);
      if (found.kind === 'other') return 'error';
      if (found.kind !== 'object') return null;
      // The last of duplicate names counts, as in `JSON.parse`.
      const has = (name: string, is: Wanted) => {
        const member = found.members.findLast(({ key }) => key === name);
        return member !== undefined && is(String.fromCharCode(body[member.start] ?? 0), member);
      };
      // `null` and `false` are no errors.
      if (has('error', (first) => first !== 'n' && first !== 'f')) return 'error';
      return Object.entries(wanted).some(([name, is]) => has(name, is)) ? 'content' : 'nothing';
    },
  };
}

/** For an endpoint that answers no JSON. */
export function createNoScan(): AnswerScan {
  return { push: () => true, substance: () => 'error' };
}
