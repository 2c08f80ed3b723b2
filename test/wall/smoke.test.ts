import { expect, test } from 'vitest';
import { chat, chatStream, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, refusedUrl, startUpstream } from '../support/upstream.ts';

test('a plain request is answered by local', async () => {
  const local = await startUpstream(answers('hello there'));
  const gateway = await startGateway({ LOCAL_ENGINE_URL: local.url });
  const answer = await chat(gateway.url);
  expect(answer.status).toBe(200);
  expect(answer.upstream).toBe('local');
  expect(answer.reason).toBe('none');
  expect(JSON.parse(answer.text)).toMatchObject({
    choices: [{ message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }],
  });
});
test('a stream falls back', async () => {
  const a = await startUpstream(error(500), error(503));
  const b = await startUpstream(answers('hello there'));
  const gateway = await startGateway({
    LOCAL_ENGINE_URL: await refusedUrl(),
    HOSTED_A_BASE_URL: a.url,
    HOSTED_B_BASE_URL: b.url,
  });
  const answer = await chatStream(gateway.url);
  expect(answer.reason).toBe('local=unreachable; hosted_a=http_503');
  expect(answer.upstream).toBe('hosted_b');
  expect(textOf(answer.text)).toBe('hello there');
});
