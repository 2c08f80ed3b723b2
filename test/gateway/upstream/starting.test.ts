import { expect, test } from 'vitest';
import { classify } from '../../../main/gateway/upstream/failure.ts';

const detailOf = (text: string) =>
  classify(
    { kind: 'status', status: 503, headers: {}, body: Buffer.from(text) },
    { upstream: 'ondemand', endpoint: { support: 'required' } },
    0,
  ).detail;

test('an engine that still loads its model is shown as starting, with what to expect', () => {
  expect(detailOf('{"error":{"message":"Loading model"}}')).toBe(
    'HTTP 503: it is starting up, which can take minutes; try again then',
  );
  expect(detailOf('server busy')).toBe('HTTP 503');
});
