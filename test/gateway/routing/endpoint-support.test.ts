import { expect, test } from 'vitest';
import { createEndpointSupport } from '../../../main/gateway/routing/endpoint-support.ts';
import { MESSAGES } from '../../../main/gateway/protocols/messages/endpoint.ts';
import type { Protocols } from '../../../main/gateway/upstream/upstreams.ts';
import { createManualClock } from '../../support/clock.ts';

const known = (protocols: Protocols) => ({ protocols, address: '', ownedBy: null });

test('an upstream at a new address, or with a new engine, is asked for an endpoint again at once', () => {
  const support = createEndpointSupport(createManualClock());
  support.refused('prv_1', MESSAGES);
  support.refused('prv_10', MESSAGES);
  support.forget('prv_1');
  expect(support.speaks('prv_1', MESSAGES, known('auto'))).toBe('unknown');
  expect(support.speaks('prv_10', MESSAGES, known('auto'))).toBe('translated');
});

test('the memory of missing endpoints is bounded: the oldest of a thousand entries goes first', () => {
  const support = createEndpointSupport(createManualClock());
  for (let n = 0; n <= 1000; n += 1) support.refused(`prv_${n}`, MESSAGES);
  expect(support.speaks('prv_0', MESSAGES, known('auto'))).toBe('unknown');
  expect(support.speaks('prv_1', MESSAGES, known('auto'))).toBe('translated');
});
