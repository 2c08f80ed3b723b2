import { expect, test } from 'vitest';
import { chat, chatStream, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, chunk, type Script, sse, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = 'my/0123456789+abcdef';

async function startHosted(script: Script) {
  const hosted = await startUpstream(script);
  return startGateway({ ...at({ hosted_a: hosted.url }), HOSTED_A_API_KEY: KEY });
}

const failure = `data: {"error":{"message":"${KEY} has expired"}}\n\n`;

test('a key that an upstream repeats in an error within a stream is masked', async () => {
  const gateway = await startHosted(sse(chunk({ content: 'Well' }), failure));
  const { text } = await chatStream(gateway.url);
  expect(text).toContain('[secret] has expired');
  expect(text).not.toContain(KEY);
});

test('a key that an upstream repeats in an error behind a 200 is masked', async () => {
  const gateway = await startHosted(sse(failure));
  const { text } = await chat(gateway.url);
  expect(text).toContain('[secret] has expired');
  expect(text).not.toContain(KEY);
});

const escaped = KEY.replace('/', '\\/').replace('+', '\\u002B');

test.each([
  ['a refusal repeats with the escapes of PHP and .NET', 400, escaped],
  ['a failure repeats as it is', 500, KEY],
])('a key that %s is masked', async (_how, status, key) => {
  const body = `{"error":{"message":"${key} has expired"}}`;
  const gateway = await startHosted(({ res }) => void res.writeHead(status, JSON_TYPE).end(body));
  const { text } = await chat(gateway.url);
  expect(text).toContain('[secret] has expired');
  expect(text).not.toContain(KEY);
});

test('an answer that succeeds is passed on unchanged, whatever it says', async () => {
  const gateway = await startHosted(answers(`Sent was ${KEY} by you`));
  expect(textOf((await chatStream(gateway.url)).text)).toBe(`Sent was ${KEY} by you`);
});
