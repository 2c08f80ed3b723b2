import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { answerChat } from '../../../main/gateway/chat/respond.ts';
import { STREAM } from '../../support/scene.ts';
import { listening } from '../../support/listening.ts';
import { startSpoken } from '../../support/spoken.ts';
import { chunk, DONE, STOP } from '../../support/upstream.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Memory with the bytes of a text and nothing else. */
const memoryOf = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer;

/** Answers requests with a stream that has begun; `first` is the memory of its first event. */
async function startBegun() {
  let first: WeakRef<ArrayBuffer> | null = null;
  let end = () => {};
  const server = createServer((_req, res) => {
    const { routed, context, deps, speak, callTo } = startSpoken(STREAM, {
      SWITCHYARD_RESUME: 'off',
    });
    const memory = memoryOf(chunk({ content: 'hello' }));
    first = new WeakRef(memory);
    speak('a', 'text/event-stream', Buffer.from(memory));
    end = () => callTo('a').exchange.listener.onData(Buffer.from(STOP + DONE));
    void routed.then((routedTo) => answerChat(routedTo, res, { base: {}, context, deps }));
  });
  const port = await listening(server);
  return { url: `http://127.0.0.1:${port}`, first: () => first?.deref(), end: () => end() };
}

test('the beginning of a stream is not kept in memory while the stream continues', async () => {
  const { url, first, end } = await startBegun();
  const response = await fetch(url);
  collect();
  expect(first()).toBeUndefined();
  end();
  expect(await response.text()).toBe(chunk({ content: 'hello' }) + STOP + DONE);
});
