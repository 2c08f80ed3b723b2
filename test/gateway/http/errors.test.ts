import { expect, test } from 'vitest';
import { errorBody } from '../../../main/gateway/http/errors.ts';
import { MESSAGES_TRANSLATION } from '../../../main/gateway/protocols/messages/endpoint.ts';

const STATUSES = Array.from({ length: 200 }, (_, index) => 400 + index);

test('an error has one Anthropic type for its status, whether or not it was translated', () => {
  for (const status of STATUSES) {
    const error = { status, code: 'upstream_error', message: 'no' } as const;
    expect([status, errorBody(error, 'anthropic')]).toEqual([
      status,
      MESSAGES_TRANSLATION.errorBody(error),
    ]);
  }
});

test.each([
  [402, 'billing_error'],
  [529, 'overloaded_error'],
  [418, 'invalid_request_error'],
  [500, 'api_error'],
])('the Anthropic type of an error with status %i is %s', (status, type) => {
  const body = errorBody({ status, code: 'upstream_error', message: 'no' }, 'anthropic');
  expect(body).toMatchObject({ error: { type } });
});
