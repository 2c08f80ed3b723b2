import { expect, test } from 'vitest';
import { createAnswerReader } from '../../../main/gateway/upstream/body-readers.ts';
import { remoteCall } from '../../../main/gateway/upstream/call.ts';
import {
  type ChatRequest,
  isBadRequest,
  parseChatRequest,
  parseInTurns,
} from '../../../main/gateway/protocols/chat-request.ts';
import { EMBEDDINGS } from '../../../main/gateway/protocols/endpoints.ts';
import { remoteUpstreams } from '../../../main/gateway/upstream/upstreams.ts';
import { loadConfig } from '../../../main/config/load.ts';
import { chatCall } from '../../support/chat-call.ts';

function requested(body: object): ChatRequest {
  const request = parseChatRequest(Buffer.from(JSON.stringify(body)), EMBEDDINGS);
  if (isBadRequest(request)) throw new Error(request.message);
  return request;
}

test('an endpoint checks its own fields and no others', async () => {
  expect(requested({ model: 'm', input: 'text' }).model).toBe('m');
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');
  expect(parseChatRequest(body, EMBEDDINGS)).toMatchObject({ param: 'input' });
  expect(await parseInTurns(body, EMBEDDINGS)).toMatchObject({ param: 'input' });
});

test('a call goes to the path of its endpoint, under the API version of the upstream', () => {
  const loaded = loadConfig(
    {
      INGLENOOK_HOSTED_A_BASE_URL: 'http://hosted.test/v1',
      INGLENOOK_HOSTED_A_MODEL: 'm',
      INGLENOOK_ONDEMAND_BASE_URL: 'http://engine.test/v1',
    },
    {},
  );
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const request = requested({ model: 'm', input: 'text' });
  const call = chatCall(request);
  const calls = remoteUpstreams(loaded.config).map((upstream) => remoteCall(call, upstream));
  expect(calls.map(({ upstream, write }) => [upstream, write(new Set()).path])).toEqual([
    ['hosted_a', '/v1/embeddings'],
    ['ondemand', '/v1/embeddings'],
  ]);
});

test('an upstream is never asked for a stream of an endpoint without streams', () => {
  const request = requested({ model: 'm', input: 'text', stream: true });
  expect([request.stream, request.isAssemblable()]).toEqual([false, false]);
});

test.each([
  ['{"data":[{"embedding":[1]}]}', 'whole'],
  ['{"data":[]}', 'bad'],
  ['{"data":[1],"error":{"message":"no"}}', 'error'],
  ['{"data":[1],"error":null}', 'whole'],
  ['{"a":{"data":[1]}}', 'bad'],
  ['[1]', 'bad'],
  ['<html>', 'bad'],
])('the embeddings endpoint judges %s as %s', (body, kind) => {
  const reader = createAnswerReader(
    { format: EMBEDDINGS.answer, followsToolResult: () => false },
    false,
  );
  const first = reader.push(Buffer.from(body));
  expect((first.kind === 'more' ? reader.end() : first).kind).toBe(kind);
});
