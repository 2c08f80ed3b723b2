import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJsonScanner, type JsonListener } from '../../main/platform/json-scanner.ts';
import { isHeavyJson } from '../../main/platform/json.ts';
import { cut } from '../support/pieces.ts';

const DEAF: JsonListener = { onEnd() {} };

function isTaken(text: string, places: readonly number[] = []): boolean {
  const scanner = createJsonScanner(DEAF, 3);
  const isGood = cut(Buffer.from(text), places).every((piece) => scanner.push(piece));
  return isGood && scanner.end();
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const places = fc.array(fc.nat(200), { maxLength: 6 });
const json = fc
  .tuple(fc.jsonValue(), fc.nat(3))
  .map(([value, by]) => JSON.stringify(value, null, by));
/** Pieces of which JSON is made, and pieces of which it is not. */
const token = fc.constantFrom(
  ...Array.from('{}[],:"\\0-1.eE+ \n\t\u0000\u00a0é\ufeff'),
  '"a"',
  '"\\u00e9"',
  '\\u',
  '\\n',
  '1.5e-7',
  'null',
  'true',
  'false',
  'nul',
  '😀',
);

test('the JSON scanner accepts what JSON.parse accepts, wherever the bytes are cut', () => {
  const text = fc.oneof(
    json,
    fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join('')),
    fc.tuple(json, fc.nat(), token).map(([whole, at, added]) => {
      const place = at % (whole.length + 1);
      return whole.slice(0, place) + added + whole.slice(place);
    }),
    fc.tuple(json, fc.nat()).map(([whole, at]) => {
      const place = at % (whole.length + 1);
      return whole.slice(0, place) + whole.slice(place + 1);
    }),
  );
  fc.assert(
    fc.property(
      text.filter((each) => each.isWellFormed()),
      places,
      (each, at) => {
        expect(isTaken(each, at)).toBe(isParsed(each));
      },
    ),
    { numRuns: 400 },
  );
});

test('JSON values and names are reported with their offsets, wherever the bytes are cut', () => {
  fc.assert(
    fc.property(json, places, (text, at) => {
      const bytes = Buffer.from(text);
      const names: string[] = [];
      const told: string[] = [];
      const areRight: boolean[] = [];
      const scanner = createJsonScanner(
        {
          onEnd({ depth, outer, name, nameStart, nameEnd, first, start }, end) {
            expect(bytes[start]).toBe(first);
            told.push(bytes.toString('utf8', start, end));
            if (depth === 0 || outer?.first !== '{'.charCodeAt(0)) return;
            const spelled = JSON.parse(bytes.toString('utf8', nameStart, nameEnd)) as string;
            names.push(spelled);
            areRight.push(name === null || !/^[ -~]*$/.test(spelled) || name === spelled);
          },
        },
        2,
      );
      for (const piece of cut(bytes, at)) scanner.push(piece);
      expect(scanner.end()).toBe(true);
      const whole = JSON.parse(text) as unknown;
      const isNest = typeof whole === 'object' && whole !== null;
      expect(areRight).not.toContain(false);
      // An object puts names that are numbers in front.
      const spelledAnew = told.map((each) => JSON.stringify(JSON.parse(each)));
      const values = [...(isNest ? Object.values(whole) : []), whole];
      expect(spelledAnew.toSorted()).toEqual(values.map((each) => JSON.stringify(each)).toSorted());
      const isObject = isNest && !Array.isArray(whole);
      expect(new Set(names)).toEqual(new Set(isObject ? Object.keys(whole) : []));
    }),
    { numRuns: 400 },
  );
});

test('a JSON text nested a million deep is refused for its depth, and one a hundred thousand deep is not', () => {
  const deep = createJsonScanner(DEAF, 1);
  expect(deep.push(Buffer.from('['.repeat(2_000_000)))).toBe(false);
  expect(deep.isTooDeep()).toBe(true);
  expect(isTaken('['.repeat(100_000) + ']'.repeat(100_000))).toBe(true);
});

test('the weight of a JSON text is its values and twice its names, and nothing for the contents of strings', () => {
  const weigh = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const inner = Object.values(value);
    const own = 1 + Math.max(0, inner.length - 1) + (Array.isArray(value) ? 0 : 2 * inner.length);
    return inner.reduce<number>((sum, each) => sum + weigh(each), own);
  };
  const text = fc.oneof(
    fc.jsonValue(),
    fc.array(fc.string({ unit: fc.constantFrom('"', '\\', 'a', ',', '['), maxLength: 90 })),
  );
  fc.assert(
    fc.property(text, (value) => {
      const spelled = JSON.stringify(value);
      const weight = weigh(JSON.parse(spelled));
      expect(isHeavyJson(spelled, Math.max(0, weight - 1))).toBe(weight > 0);
      expect(isHeavyJson(spelled, weight)).toBe(false);
    }),
    { numRuns: 400 },
  );
});
