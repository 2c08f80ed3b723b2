import { expect, test } from 'vitest';
import { chat, chatStream, startCall, startChat, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  json,
  type Script,
  sse,
  startUpstream,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const KEY = 'sk-0123456789abcdef';
const COVERED = '[secret]***********';
const HALVES = [KEY.slice(0, 9), KEY.slice(9)] as const;

async function startHosted(...scripts: readonly Script[]) {
  const hosted = await startUpstream(...scripts);
  const settings = { ...at({ hosted_a: hosted.url }), HOSTED_A_API_KEY: KEY };
  return { hosted, gateway: await startGateway(settings) };
}

test('a key that a stream repeats is masked, and the text is otherwise unchanged', async () => {
  const { hosted, gateway } = await startHosted(answers(`Sent was ${KEY} by you`));
  const { text, upstream } = await chatStream(gateway.url);
  expect(hosted.calls[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect([upstream, textOf(text)]).toEqual(['hosted_a', `Sent was ${COVERED} by you`]);
});

test('a key in two packets of a stream is masked', async () => {
  const [first = '', second = ''] = chunk({ content: `is ${KEY} yours` }).split(HALVES[1]);
  const { hosted, gateway } = await startHosted(({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(chunk({ content: 'This ' }) + first);
  });
  const pending = startChat(gateway.url, {
    stream: true,
    messages: [{ role: 'user', content: 'x' }],
  });
  await pending.received('This ');
  (await hosted.call(1)).res.end(HALVES[1] + second + chunk({}, 'stop') + DONE);
  expect(textOf((await pending.answer).text)).toBe(`This is ${COVERED} yours`);
});

test('a key that comes piece by piece is masked in an assembled answer', async () => {
  const words = KEY.split(/(?=[13579])/).map((content) => chunk({ content }));
  const { gateway } = await startHosted(sse(...words, chunk({}, 'stop'), DONE));
  expect((await chat(gateway.url)).text).toContain(`"${COVERED}"`);
});

test('a key in a whole answer is masked', async () => {
  const { gateway } = await startHosted(json(200, completion(`It is ${KEY}.`)));
  expect((await chat(gateway.url)).text).toContain(`"It is ${COVERED}."`);
});

test('a key in an answer of bytes is masked, and the announced length holds', async () => {
  const length = `first ${KEY} last sk-`.length;
  const { hosted, gateway } = await startHosted(({ res }) => {
    res.writeHead(200, { 'content-type': 'text/vtt', 'content-length': length });
    res.write(`first ${HALVES[0]}`);
  });
  const pending = startCall(`${gateway.url}/v1/audio/speech`, {
    model: 'm',
    input: 'x',
    voice: 'v',
  });
  await pending.received('first ');
  (await hosted.call(1)).res.end(`${HALVES[1]} last sk-`);
  const { headers, text } = await pending.answer;
  expect([headers['content-length'], text]).toEqual([String(length), `first ${COVERED} last sk-`]);
});
