import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { CHAT } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, chunk, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const BODY = JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hi' }] });
const REQUEST = [
  `POST ${CHAT} HTTP/1.1`,
  'Host: localhost',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

test('two streams that are requested on one connection come whole and one after the other', async () => {
  const local = await startUpstream(async ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(chunk({ content: 'first ' }));
    // The second answer is whole before the first one goes on.
    await local.call(2);
    res.write(chunk({ content: 'goes on ' }));
    res.end(chunk({ content: 'last' }, 'stop'));
  }, answers('second answer'));
  const gateway = await startGateway(at({ local: local.url }));
  const { port } = new URL(gateway.url);
  const text = await new Promise<string>((resolve, reject) => {
    let seen = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(REQUEST + REQUEST));
    socket.on('error', reject);
    socket.setEncoding('utf8').on('data', (part: string) => {
      seen += part;
      if (seen.split('data: [DONE]\n\n\r\n0\r\n\r\n').length === 3) {
        socket.destroy();
        resolve(seen);
      }
    });
  });
  const contents = [...text.matchAll(/"content":"([^"]+)"/g)].map(([, content]) => content);
  expect(contents).toEqual(['first ', 'goes on ', 'last', 'second ', 'answer']);
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});
