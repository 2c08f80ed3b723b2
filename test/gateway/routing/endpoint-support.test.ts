import { expect, test } from 'vitest';
import { createEndpointSupport } from '../../../main/gateway/routing/endpoint-support.ts';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { MESSAGES } from '../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES } from '../../../main/gateway/protocols/responses/endpoint.ts';
import { RERANK } from '../../../main/gateway/protocols/endpoints.ts';
import type { Protocols } from '../../../main/gateway/upstream/upstreams.ts';
import { createManualClock } from '../../support/clock.ts';

const known = (protocols: Protocols) => ({ protocols, address: '', ownedBy: null });

test('an endpoint that an upstream lacks is remembered for that upstream and endpoint, for ten minutes', () => {
  const clock = createManualClock();
  const support = createEndpointSupport(clock);
  const at = (id: string, endpoint = MESSAGES) => support.speaks(id, endpoint, known('auto'));
  expect(at('local')).toBe('unknown');
  support.refused('local', MESSAGES);
  expect([at('local'), at('local', RESPONSES), at('hosted_a'), at('local2')]).toEqual([
    'translated',
    'unknown',
    'unknown',
    'unknown',
  ]);
  clock.advance(599_999);
  expect(at('local')).toBe('translated');
  clock.advance(1);
  expect(at('local')).toBe('unknown');
});

test('an upstream at a new address, or with a new engine, is asked for an endpoint again at once', () => {
  const support = createEndpointSupport(createManualClock());
  support.refused('prv_1', MESSAGES);
  support.refused('prv_10', MESSAGES);
  support.forget('prv_1');
  expect(support.speaks('prv_1', MESSAGES, known('auto'))).toBe('unknown');
  expect(support.speaks('prv_10', MESSAGES, known('auto'))).toBe('translated');
});

test('a setting decides over endpoints that can be translated, and over no others', () => {
  const support = createEndpointSupport(createManualClock());
  support.refused('local', RESPONSES);
  support.refused('local', RERANK);
  expect(support.speaks('local', RESPONSES, known('native'))).toBe('native');
  expect(support.speaks('hosted_a', RESPONSES, known('chat'))).toBe('translated');
  expect(support.speaks('hosted_a', RERANK, known('chat'))).toBe('unknown');
  expect(support.speaks('local', RERANK, known('native'))).toBe('translated');
  expect(support.speaks('local', CHAT_COMPLETIONS, known('auto'))).toBe('native');
});

test('the memory of missing endpoints is bounded: the oldest of a thousand entries goes first', () => {
  const support = createEndpointSupport(createManualClock());
  for (let n = 0; n <= 1000; n += 1) support.refused(`prv_${n}`, MESSAGES);
  expect(support.speaks('prv_0', MESSAGES, known('auto'))).toBe('unknown');
  expect(support.speaks('prv_1', MESSAGES, known('auto'))).toBe('translated');
});
