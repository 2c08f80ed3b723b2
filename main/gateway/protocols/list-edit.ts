import { isObject, isTooDeep, listOf, parseExactJson } from '../../platform/json.ts';
import {
  type BodyChange,
  type JsonBody,
  JsonScan,
  memberAt,
  type Span,
  withMembers,
} from './json-edit.ts';

/* Changes of the objects in a list of a body: what is not changed keeps its bytes. */

type Json = Readonly<Record<string, unknown>>;
/** The same value to keep an object, another to replace it, or a list, of which an empty one drops it. */
export type Edit<T = Json> = (object: Json) => Json | readonly T[];

const OPEN_BRACE = 0x7b;

/** The elements of a list, or the one value that is none; none if there is no such member, or if the list is too long. */
export function elementsOf(body: JsonBody, key: string): readonly Span[] {
  const member = memberAt(body, key);
  if (member === undefined) return [];
  const { start: from, last } = member;
  if (last === null) return [member];
  const scan = new JsonScan();
  if (!scan.isWhole(body.bytes.subarray(from, member.end))) return [];
  return scan.members.map(({ start, end }) => ({ start: from + start, end: from + end }));
}

/**
 * The list that the body has by one of the names, or the one object there, as `edit` passes it on, one element at a time:
 * a list of pictures would be in memory twice. What it passes on as it came keeps its bytes. An element without any of the
 * words in it, or too heavy to be parsed, comes as an empty object.
 */
export const editedList =
  (
    names: readonly string[],
    words: readonly string[],
    edit: (elements: Iterable<Json>, body: JsonBody) => Iterable<Json>,
  ): BodyChange =>
  (body) => {
    const key = names.find((name) => memberAt(body, name) !== undefined) ?? '';
    if (!words.some((word) => body.bytes.includes(word))) return null;
    const places = elementsOf(body, key);
    const spelled = new WeakMap<Json, Buffer>();
    function* elements() {
      for (const { start, end } of places) {
        const own = body.bytes.subarray(start, end);
        const isMeant = own[0] === OPEN_BRACE && words.some((word) => own.includes(word));
        const json = isMeant ? parseExactJson(own.toString('utf8')) : undefined;
        const element = isObject(json) && !isTooDeep(json) ? json : {};
        spelled.set(element, own);
        yield element;
      }
    }
    const left: Buffer[] = [];
    let isChanged = false;
    for (const element of edit(elements(), body)) {
      const known = spelled.get(element);
      isChanged ||= known === undefined;
      left.push(known ?? Buffer.from(JSON.stringify(element)));
    }
    if (!isChanged && left.length === places.length) return null;
    if (memberAt(body, key)?.last === null) return withMembers(body, { [key]: left[0] ?? null });
    const list = left.flatMap((part, at) => (at === 0 ? part : [Buffer.from(','), part]));
    return withMembers(body, {
      [key]: Buffer.concat([Buffer.from('['), ...list, Buffer.from(']')]),
    });
  };

export const editedObjects = (
  names: readonly string[],
  words: readonly string[],
  edit: Edit,
): BodyChange =>
  editedList(names, words, function* (elements) {
    for (const each of elements)
      yield* Object.keys(each).length === 0 ? [each] : [edit(each)].flat();
  });

/** `edit` on each object in the list that an object has as `name`; the object itself if nothing changes. */
export function editedWithin(holder: Json, name: string, edit: Edit<unknown>): Json {
  const before = listOf(holder[name]);
  const after = before.flatMap((each) => (isObject(each) ? edit(each) : [each]));
  const isSame = after.length === before.length && after.every((each, at) => each === before[at]);
  return isSame ? holder : { ...holder, [name]: after };
}
