import { createServer, request } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '../../../main/platform/clock.ts';
import { sendJson } from '../../../main/platform/http/responses.ts';
import { listening } from '../../support/listening.ts';

/** The `connection` header of an early answer to a POST of ten bytes, of which `sent` have come by then. */
async function connectionAfter(sent: number): Promise<string | undefined> {
  const server = createServer((req, res) => {
    const answer = () => sendJson(res, 413, {}, {}, { clock: systemClock, maxRestBytes: 1000 });
    let bytes = 0;
    req.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes === sent && sent < 10) answer();
    });
    req.on('end', () => {
      if (sent === 10) answer();
    });
  });
  const port = await listening(server);
  const outgoing = request({ port, method: 'POST', headers: { 'content-length': 10 } });
  outgoing.write('x'.repeat(sent));
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      outgoing.end('x'.repeat(10 - sent));
      response.resume();
      resolve(response.headers.connection);
    });
  });
}

test('an early answer closes the connection only while the body is still arriving', async () => {
  expect([await connectionAfter(5), await connectionAfter(10)]).toEqual(['close', 'keep-alive']);
});
