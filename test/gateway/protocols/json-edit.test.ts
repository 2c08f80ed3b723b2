import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBuffer } from '../../../main/platform/byte-buffer.ts';
import { createMemberScan } from '../../../main/gateway/protocols/endpoint.ts';
import {
  bodyOf,
  membersOf,
  without,
  withMembers,
} from '../../../main/gateway/protocols/json-edit.ts';
import { characters } from '../../support/characters.ts';
import { type Edit, editedObjects } from '../../../main/gateway/protocols/list-edit.ts';
import { cut } from '../../support/pieces.ts';

/** A JSON text with its own blanks and spellings, member by member. */
interface Spelled {
  readonly open: string;
  readonly members: readonly {
    readonly key: string;
    readonly before: string;
    readonly value: string;
    readonly after: string;
  }[];
  readonly close: string;
}

const blank = fc
  .array(fc.constantFrom(' ', '\n', '\r', '\t'), { maxLength: 3 })
  .map((blanks) => blanks.join(''));
const key = fc.oneof(
  characters(8),
  fc.constantFrom(
    'model',
    'stream',
    '__proto__',
    'constructor',
    'toString',
    '',
    '"',
    '\\',
    '}',
    ',',
  ),
);
/** A key spelled plainly or all in escapes, with blanks around it. */
const named = fc.tuple(key, fc.boolean(), blank, blank, blank).map(([name, escaped, a, b, c]) => ({
  key: name,
  before: `${a}${escaped ? inEscapes(name) : JSON.stringify(name)}${b}:${c}`,
}));
const value = fc.oneof(
  fc.jsonValue().map((json) => JSON.stringify(json)),
  fc.constantFrom(
    '1e999',
    '-0',
    '12345678901234567890',
    '1.0',
    '"\\u0041"',
    '"}\\\\"',
    '[ { } ]',
    '"a\\"b"',
  ),
);
const member = fc
  .tuple(named, value, blank)
  .map(([name, text, after]) => ({ ...name, value: text, after }));
const spelled: fc.Arbitrary<Spelled> = fc.record({
  open: fc.tuple(blank, blank).map(([outer, inner]) => `${outer}{${inner}`),
  members: fc.array(member, { maxLength: 8 }),
  close: blank.map((outer) => `}${outer}`),
});

function inEscapes(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

function textOf({ open, members, close }: Spelled): string {
  return open + members.map((each) => each.before + each.value + each.after).join(',') + close;
}

// Not held against JSON.parse of the whole: V8 misreads escaped keys once it has seen the key `\`.
test('each member of an object is found, with its key decoded and its value as it is spelled', () => {
  fc.assert(
    fc.property(spelled, (json) => {
      const bytes = Buffer.from(textOf(json));
      const found = bodyOf(bytes).members.map((each) => ({
        key: each.key,
        value: bytes.toString('utf8', each.start, each.end),
      }));
      expect(found).toEqual(json.members.map((each) => ({ key: each.key, value: each.value })));
    }),
    { numRuns: 400 },
  );
});

test('setting members changes those members and no other byte', () => {
  const values = fc.dictionary(
    fc.constantFrom('model', 'stream', 'stream_options'),
    fc.constantFrom('"m"', 'true', '{"include_usage":true}'),
  );
  fc.assert(
    fc.property(spelled, values, (json, set) => {
      const changed = withMembers(bodyOf(Buffer.from(textOf(json))), set);
      const keys = json.members.map((each) => each.key);
      const replaced = json.members.map((each) =>
        Object.hasOwn(set, each.key) ? { ...each, value: set[each.key] ?? '' } : each,
      );
      const added = Object.entries(set).filter(([name]) => !keys.includes(name));
      const expected = textOf({ ...json, members: replaced });
      const close = expected.lastIndexOf('}');
      const tail = added.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',');
      const comma = added.length > 0 && keys.length > 0 ? ',' : '';
      const whole = expected.slice(0, close) + comma + tail + expected.slice(close);
      expect(changed.bytes.toString()).toBe(Buffer.from(whole).toString());
    }),
    { numRuns: 400 },
  );
});

test('removing a member keeps the bytes of all others', () => {
  const body = bodyOf(Buffer.from(' { "a" : 1.50 , "b":[ 1, 2 ],"c":{"a":3} }'));
  expect(without('b')(body)?.bytes.toString()).toBe(' { "a" : 1.50,"c":{"a":3} }');
  const changed = withMembers(body, { a: null, c: '2', d: '3', e: null });
  expect(changed.bytes.toString()).toBe(' { "b":[ 1, 2 ],"c":2 ,"d":3}');
  expect(without('a')(bodyOf(Buffer.from('{"a":1}')))?.bytes.toString()).toBe('{}');
  expect(without('d')(body)).toBeNull();
});

test('an edited list loses the spelling only of the objects that change', () => {
  const before = '{"list":[ {"x" : 1e2, "at":1} ,"x", {"y": 9007199254740993},{"x":2} ]}';
  const body = bodyOf(Buffer.from(before));
  const edited = (edit: Edit) =>
    editedObjects(['list'], ['"x"'], edit)(body)?.bytes.toString() ?? null;
  const seen: unknown[] = [];
  const keep = (element: object) => {
    seen.push(element);
    return element as Record<string, unknown>;
  };
  expect(edited(keep)).toBeNull();
  expect(seen).toEqual([{ x: 100, at: 1 }, { x: 2 }]);
  const own = '{"x" : 1e2, "at":1},"x",{"y": 9007199254740993}';
  const onLast = (after: readonly object[]) =>
    edited((element) => (element['x'] === 2 ? (after as Record<string, unknown>[]) : element));
  expect(onLast([])).toBe(`{"list":[${own}]}`);
  expect(onLast([{ z: 3 }])).toBe(`{"list":[${own},{"z":3}]}`);
  expect(onLast([{ z: 3 }, { x: 2 }])).toBe(`{"list":[${own},{"z":3},{"x":2}]}`);
});

test('a list of more elements than are looked for is left as it is', () => {
  const body = bodyOf(Buffer.from(`{"list":[${'{"x":1},'.repeat(10_000)}{"x":1}]}`));
  expect(editedObjects(['list'], ['"x"'], () => [])(body)).toBeNull();
});

/** As an answer that arrives in such pieces is judged. */
function isTaken(text: string, places: readonly number[] = []): boolean {
  const bytes = Buffer.from(text);
  const scan = createMemberScan({});
  const body = new ByteBuffer();
  for (const piece of cut(bytes, places)) {
    body.add(piece);
    scan.push(body);
  }
  return scan.substance(bytes) !== null;
}

const places = fc.array(fc.nat(200), { maxLength: 6 });
const json = fc
  .tuple(fc.oneof(fc.object(), fc.array(fc.jsonValue())), fc.nat(3))
  .map(([parsed, by]) => JSON.stringify(parsed, null, by));

test('an object or list is accepted unless it ends early or continues, wherever the bytes are cut', () => {
  fc.assert(
    fc.property(json, places, fc.nat(), (whole, at, end) => {
      expect(isTaken(whole, at)).toBe(true);
      expect(isTaken(whole.slice(0, end % whole.length), at)).toBe(false);
      expect(isTaken(`${whole}x`, at)).toBe(false);
    }),
    { numRuns: 400 },
  );
});

test.each([
  '',
  'x',
  '"a"',
  '7',
  '{]',
  '[1',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  '{1:2}',
  '{,}',
  '{"a":1}}',
])('a text that is not an object with named values has no members: %s', (text) => {
  expect(membersOf(Buffer.from(text))).toBeNull();
});

test('a JSON text nested a hundred thousand deep is accepted, and one nested a million deep is not', () => {
  expect(isTaken('['.repeat(2_000_000) + ']'.repeat(2_000_000))).toBe(false);
  expect(isTaken('['.repeat(100_000) + ']'.repeat(100_000))).toBe(true);
});
