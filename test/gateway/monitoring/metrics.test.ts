import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { counter } from '../../../main/gateway/monitoring/exposition.ts';
import { readExposition } from '../../support/exposition.ts';

test('any text comes back unchanged from a label and from a HELP', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[\\"n\n{},= ]+$/));
  const property = fc.property(text, text, (value, other) => {
    const help = `.${value}`;
    const written = counter('trains_total', help, [[{ a: value, b: other }, 1]]);
    const read = readExposition(written).get('trains_total');
    expect(read?.help).toBe(help);
    expect([...(read?.series.keys() ?? [])]).toEqual([JSON.stringify({ a: value, b: other })]);
  });
  fc.assert(property, { numRuns: 400 });
});

test('any number comes back unchanged from a sample', () => {
  const property = fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    const read = readExposition(counter('trains_total', 'Trains.', value));
    expect(read.get('trains_total')?.series.get('{}') === value).toBe(true);
  });
  fc.assert(property);
});
