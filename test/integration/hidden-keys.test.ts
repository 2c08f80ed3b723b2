import { expect, test } from 'vitest';
import { chat, chatStream, HELLO, textOf } from '../support/client.ts';
import { answers, chunk, type Script, sse, json } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const KEY = 'my/0123456789+abcdef';
const escaped = KEY.replace('/', '\\/').replace('+', '\\u002B');
const says = (key: string) => `{"error":{"message":"${key} has expired"}}`;
const failure = `data: ${says(KEY)}\n\n`;

async function startHosted(script: Script) {
  return startBefore({ a: script }, { HOSTED_A_API_KEY: KEY });
}

test.each<[where: string, script: Script]>([
  ['an error within a stream', sse(chunk({ content: 'Well' }), failure)],
  ['an error behind a 200', sse(failure)],
  ['a failure', json(500, says(KEY))],
  ['a refusal, with the escapes of PHP and .NET', json(400, says(escaped))],
])('a key that an upstream repeats in %s is masked', async (_where, script) => {
  const { text } = await chatStream((await startHosted(script)).url);
  expect(text).toContain('[secret] has expired');
  expect(text).not.toContain(KEY);
});

test('the caller’s own key is masked where its engine repeats it', async () => {
  const { url } = await startBefore({ local: json(401, says('abcdef123456')) });
  const { text } = await chat(url, HELLO, { authorization: 'Bearer abcdef123456' });
  expect(text).toContain('[secret] has expired');
});

test('an answer that succeeds is passed on unchanged, whatever it says', async () => {
  const { url } = await startHosted(answers(`Sent was ${KEY} by you`));
  expect(textOf((await chatStream(url)).text)).toBe(`Sent was ${KEY} by you`);
});
