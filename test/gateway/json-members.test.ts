import fc from 'fast-check';
import { expect, test } from 'vitest';
import { topLevelMembers, withMembers } from '../../main/gateway/json-members.ts';

/** A JSON text with its own blanks and spellings, built member by member. */
interface Spelled {
  readonly open: string;
  readonly members: readonly {
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
  fc.string({ unit: 'binary', maxLength: 8 }),
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
/** The same key, spelled plainly or with escapes. */
const spelledKey = fc
  .tuple(key, fc.boolean())
  .map(([text, escaped]) =>
    escaped
      ? `"${[...text].flatMap((char) => [...char].flatMap((each) => utf16(each))).join('')}"`
      : JSON.stringify(text),
  );
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
const spelled: fc.Arbitrary<Spelled> = fc.record({
  open: fc.tuple(blank, blank).map(([outer, inner]) => `${outer}{${inner}`),
  members: fc.array(
    fc.record({
      before: fc
        .tuple(blank, spelledKey, blank, blank)
        .map(([a, name, b, c]) => `${a}${name}${b}:${c}`),
      value,
      after: blank,
    }),
    { maxLength: 8 },
  ),
  close: fc.tuple(blank).map(([outer]) => `}${outer}`),
});

function utf16(char: string): string[] {
  return Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
  );
}

function textOf({ open, members, close }: Spelled): string {
  return open + members.map(({ before, value: v, after }) => before + v + after).join(',') + close;
}

test('the members found are the ones that JSON.parse finds, with the values it reads', () => {
  fc.assert(
    fc.property(spelled, (json) => {
      const bytes = Buffer.from(textOf(json));
      const members = topLevelMembers(bytes);
      const parsed = JSON.parse(bytes.toString()) as object;
      expect(members).toHaveLength(json.members.length);
      expect(new Set(members.map((member) => member.key))).toEqual(new Set(Object.keys(parsed)));
      const texts = members.map(({ start, end }) => bytes.toString('utf8', start, end));
      expect(texts).toEqual(json.members.map((member) => Buffer.from(member.value).toString()));
    }),
    { numRuns: 2000 },
  );
});

test('setting members changes those members and no other byte', () => {
  const values = fc.dictionary(
    fc.constantFrom('model', 'stream', 'stream_options'),
    fc.constantFrom('"m"', 'true', '{"include_usage":true}'),
  );
  fc.assert(
    fc.property(spelled, values, (json, set) => {
      const bytes = Buffer.from(textOf(json));
      const members = topLevelMembers(bytes);
      const changed = withMembers(bytes, members, set);
      const keys = members.map((member) => member.key);
      const replaced = json.members.map((member, index) => {
        const name = keys[index] ?? '';
        return Object.hasOwn(set, name) ? { ...member, value: set[name] ?? '' } : member;
      });
      const added = Object.entries(set).filter(([name]) => !keys.includes(name));
      const expected = textOf({ ...json, members: replaced });
      const close = expected.lastIndexOf('}');
      const tail = added.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',');
      const comma = added.length > 0 && keys.length > 0 ? ',' : '';
      const whole = expected.slice(0, close) + comma + tail + expected.slice(close);
      expect(changed.toString()).toBe(Buffer.from(whole).toString());
    }),
    { numRuns: 2000 },
  );
});

test('setting no member gives the same bytes', () => {
  const bytes = Buffer.from(' {"a" : 1e999}\n');
  expect(withMembers(bytes, topLevelMembers(bytes), {})).toEqual(bytes);
});

test('a key that every object inherits is a key like any other', () => {
  const bytes = Buffer.from('{"__proto__":1,"constructor":2,"toString":3,"model":"x"}');
  const changed = withMembers(bytes, topLevelMembers(bytes), { model: '"y"' });
  expect(changed.toString()).toBe('{"__proto__":1,"constructor":2,"toString":3,"model":"y"}');
});

test('a body nested 100,000 deep is scanned without recursion', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const bytes = Buffer.from(`{"deep":${deep},"model":"x"}`);
  const changed = withMembers(bytes, topLevelMembers(bytes), { model: '"y"' });
  expect(changed.toString()).toBe(`{"deep":${deep},"model":"y"}`);
});
