import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { exposition, type Family } from '../../../main/gateway/monitoring/metrics.ts';
import { readExposition } from '../../support/exposition.ts';

const FAMILY: Family = {
  name: 'trains_total',
  type: 'counter',
  help: 'Trains.',
  samples: [
    { labels: { track: 'a', side: 'left' }, value: 3 },
    { labels: {}, value: 0.25 },
  ],
};

test('a metric family is its HELP, its TYPE and a line for each sample', () => {
  expect(exposition([FAMILY])).toBe(
    '# HELP trains_total Trains.\n# TYPE trains_total counter\ntrains_total{track="a",side="left"} 3\ntrains_total 0.25\n',
  );
});

test('a missing figure is left out, and so is a metric family without any', () => {
  const none = { labels: {}, value: null };
  const sparse = { ...FAMILY, samples: [none, ...FAMILY.samples] };
  const empty = { ...FAMILY, name: 'planes_total', samples: [none] };
  expect(exposition([empty, sparse])).toBe(exposition([FAMILY]));
});

test('any text comes back unchanged from a label and from a HELP', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[\\"n\n{},= ]+$/));
  const property = fc.property(text, text, (value, other) => {
    const help = `.${value}`;
    const samples = [{ labels: { a: value, b: other }, value: 1 }];
    const read = readExposition(exposition([{ ...FAMILY, help, samples }])).get(FAMILY.name);
    expect(read?.help).toBe(help);
    expect([...(read?.series.keys() ?? [])]).toEqual([JSON.stringify({ a: value, b: other })]);
  });
  fc.assert(property, { numRuns: 400 });
});

test('any number comes back unchanged from a sample', () => {
  const property = fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    const text = exposition([{ ...FAMILY, samples: [{ labels: {}, value }] }]);
    expect(readExposition(text).get(FAMILY.name)?.series.get('{}') === value).toBe(true);
  });
  fc.assert(property);
});
