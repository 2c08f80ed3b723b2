import { expect, test } from 'vitest';
import { loadConfig } from '../../../main/config/load.ts';
import {
  isBadRequest,
  nativeForm,
  parseChatRequest,
} from '../../../main/gateway/protocols/chat-request.ts';
import { MESSAGES } from '../../../main/gateway/protocols/messages/endpoint.ts';
import { fixVolatileParts } from '../../../main/gateway/protocols/volatile-parts.ts';
import { remoteCall } from '../../../main/gateway/upstream/call.ts';
import { remoteUpstreams } from '../../../main/gateway/upstream/upstreams.ts';
import { chatCall } from '../../support/chat-call.ts';

const SENT =
  '{"model": "claude-sonnet-5", "max_tokens": 9, "system": "x-anthropic-billing-header: cc_version=2.1; cch=36ee5;", "messages": [{"role":"user","content":"hi"}], "stream": true}';

/** What an upstream at an address is sent. */
function sentTo(address: string) {
  const loaded = loadConfig({ SWITCHYARD_HOSTED_A_BASE_URL: address }, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const [upstream] = remoteUpstreams(loaded.config);
  const request = parseChatRequest(Buffer.from(SENT), MESSAGES);
  if (isBadRequest(request) || upstream === undefined) throw new Error('no call');
  const volatileParts = fixVolatileParts(request);
  const native = nativeForm(request, null, volatileParts);
  const call = remoteCall({ ...chatCall(request), native, volatileParts }, upstream);
  return { fixedParts: call.fixedParts, body: call.write(new Set()).body?.toString() };
}

test('Anthropic gets the body as it came, and others a constant in place of the hash', () => {
  expect(sentTo('https://api.anthropic.com/v1')).toEqual({ fixedParts: [], body: SENT });
  expect(sentTo('https://api.z.ai/api/anthropic/v1')).toEqual({
    fixedParts: ['cch'],
    body: SENT.replace('36ee5', '00000'),
  });
});
