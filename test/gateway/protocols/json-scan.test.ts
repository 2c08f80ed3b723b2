import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScan, membersOf } from '../../../main/gateway/protocols/json-scan.ts';
import { cut } from '../../support/pieces.ts';

function isTaken(text: string, places: readonly number[] = []): boolean {
  const bytes = Buffer.from(text);
  const scan = new JsonScan('object');
  let length = 0;
  for (const piece of cut(bytes, places)) scan.push(bytes.subarray(0, (length += piece.length)));
  const { kind } = scan.end(bytes);
  return kind === 'object' || kind === 'other';
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

test('a JSON text nested a million deep is refused for its depth, and one a hundred thousand deep is not', () => {
  expect(membersOf(Buffer.from('['.repeat(2_000_000)))).toEqual({ kind: 'too_much' });
  expect(isTaken('['.repeat(100_000) + ']'.repeat(100_000))).toBe(true);
});
