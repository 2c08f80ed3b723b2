import type { Socket } from 'node:net';
import { createGzip } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createManualClock } from '../support/clock.ts';
import { chat, expectServed } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { responseBytes, startRawUpstream } from '../support/raw-upstream.ts';
import { inFlight } from '../support/report.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  json,
  ROLE,
  sse,
  startUpstream,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { PLAIN, startBefore, STREAM } from '../support/scene.ts';

const A = chunk({ content: 'a' });
const KIB_64 = 'x'.repeat(64 * 1024);
const MEBIBYTE = 1024 * 1024;

/** Writes `piece` as long as the other side takes it; resolves when it has hung up. */
async function pour(socket: Socket, head: string, piece: string): Promise<void> {
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.write(head);
  while (!socket.destroyed) {
    if (socket.write(piece)) await new Promise((resolve) => setImmediate(resolve));
    else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), gone]);
  }
}

const OK = 'HTTP/1.1 200 OK\r\n';
const chunkHead = (type: string) => `${OK}content-type: ${type}\r\nconnection: close\r\n\r\n`;

const ENDLESS: readonly [name: string, head: string, piece: string][] = [
  ['a status line', 'HTTP/1.1 200 ', KIB_64],
  ['a header', 'HTTP/1.1 200 OK\r\nx: ', KIB_64],
  ['headers', 'HTTP/1.1 200 OK\r\n', `x-a: ${'y'.repeat(200)}\r\n`],
  ['comments', chunkHead('text/event-stream'), `: ${KIB_64}\n\n`],
  ['blank lines', chunkHead('text/event-stream'), '\n'.repeat(65_536)],
  ['blanks without a label', chunkHead('application/octet-stream'), ' '.repeat(65_536)],
  ['one event', chunkHead('text/event-stream'), KIB_64],
  ['events without content', chunkHead('text/event-stream'), ROLE.repeat(200)],
  ['a JSON answer', chunkHead('application/json'), `{"a":"${KIB_64}"},`],
  ['an error', 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n', KIB_64],
];

describe.each([
  ['stream', STREAM],
  ['plain', PLAIN],
])('for a %s caller', (_caller, body) => {
  test.each(ENDLESS)(
    '%s without end is cut off, and the next upstream is called',
    async (name, head, piece) => {
      const a = await startRawUpstream((socket) => pour(socket, head, piece));
      const b = await startUpstream(answers('from b'));
      const settings = { HOSTED_A_BASE_URL: a.url, HOSTED_B_BASE_URL: b.url };
      // No time passes: it is cut off for its bytes.
      const gateway = await startGateway(settings, createManualClock());
      const gone = a
        .connection(1)
        .then((socket) => new Promise((resolve) => socket.once('close', resolve)));
      const reason = name === 'an error' ? 'http_400' : 'bad_response';
      expectServed(await chat(gateway.url, body), 'hosted_b', `hosted_a=${reason}`);
      await gone;
      expect(inFlight(gateway)).toBe(0);
    },
  );
});

test.each<[name: string, bytes: string]>([
  ['garbage', '\x00\x01\x02\x03 what?\r\n\r\n'],
  ['HTTP/0.9', '<html>hello</html>\r\n\r\n'],
  ['two lengths that differ', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`],
  ['a chunk size that is none', `${OK}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`],
  ['a head that ends too early', `${OK}content-type: application/json\r\n`],
])('%s in place of an answer falls back', async (_name, bytes) => {
  const a = await startRawUpstream((socket) => void socket.end(Buffer.from(bytes, 'latin1')));
  const b = await startUpstream(answers('from b'));
  const gateway = await startGateway({ HOSTED_A_BASE_URL: a.url, HOSTED_B_BASE_URL: b.url });
  const answer = await chat(gateway.url, STREAM);
  expect(answer).toMatchObject({ status: 200, upstream: 'hosted_b' });
  expect(answer.reason).toMatch(/^hosted_a=(bad_response|unreachable)$/);
  expect(a.requests).toHaveLength(1);
});

test.each<[name: string, status: number, type: string, body: object]>([
  ['a plain answer', 200, 'application/json', PLAIN],
  ['a stream', 200, 'text/event-stream', STREAM],
  ['an error', 400, 'application/json', STREAM],
])(
  'a gzip bomb as %s is refused before it is unpacked completely',
  async (_name, status, type, body) => {
    const zeros = Buffer.alloc(8 * MEBIBYTE);
    const bomb: Script = async ({ res, socket, gone }) => {
      res.writeHead(status, { 'content-type': type, 'content-encoding': 'gzip' });
      const gzip = createGzip({ level: 1 });
      gzip.pipe(res);
      gzip.write('data: {"a":"');
      // 1 GiB, of which about 1 MB goes over the wire.
      for (let part = 0; part < 128 && !socket.destroyed; part += 1) {
        if (gzip.write(zeros)) continue;
        await Promise.race([new Promise((resolve) => gzip.once('drain', resolve)), gone]);
      }
      gzip.end();
    };
    const { gateway, a } = await startBefore({ a: bomb });
    const before = process.memoryUsage.rss();
    const answer = await chat(gateway.url, body);
    // The beginning of an error says what is wrong.
    const told = status === 400 ? [status, 'none'] : [502, 'hosted_a=bad_response'];
    expect([answer.status, answer.reason]).toEqual(told);
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * MEBIBYTE);
    await a.gone(1);
  },
);

const DEEP = '['.repeat(100_000) + ']'.repeat(100_000);
const deepAnswer = JSON.stringify(completion('hello')).replace('"created":1', `"deep":${DEEP}`);
const deepChunk = A.replace('"created":1', `"deep":${DEEP}`);
const deepCall = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"x":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}}]}\n\n`;

test.each<[name: string, script: Script, body: object, upstream: string]>([
  ['an answer, to a plain caller', json(200, deepAnswer), PLAIN, 'hosted_a'],
  ['an answer, to a stream caller', json(200, deepAnswer), STREAM, 'hosted_b'],
  ['a stream, to a stream caller', sse(deepChunk, A, STOP, DONE), STREAM, 'hosted_a'],
  ['a stream, to a plain caller', sse(deepChunk, A, STOP, DONE), PLAIN, 'hosted_b'],
  ['a tool call, to a plain caller', sse(deepCall, deepCall, STOP, DONE), PLAIN, 'hosted_b'],
  ['an error event', sse(`data: {"error":${DEEP}}\n\n`), STREAM, 'hosted_b'],
  ['an error answer', json(200, `{"error":${DEEP}}`), PLAIN, 'hosted_b'],
  ['an error status', json(500, `{"error":${DEEP.slice(0, 4000)}}`), PLAIN, 'hosted_b'],
])(
  'a nest 100,000 deep in %s is passed on or falls back, and never ends the gateway',
  async (_name, script, body, upstream) => {
    const scripts = { a: script, b: answers('from b') };
    const { gateway } = await startBefore(scripts, { HOSTED_A_TIMEOUT_MS: '4000' });
    const got = await chat(gateway.url, body);
    expect(got).toMatchObject({ status: 200, upstream });
    expect(inFlight(gateway)).toBe(0);
  },
);

test('keys that objects inherit are plain keys in an assembled stream', async () => {
  const odd = A.replace('"created":1', '"constructor":1,"toString":"x","__proto__":{"polluted":1}');
  const { gateway } = await startBefore({ a: sse(odd, STOP, DONE) });
  const got = await chat(gateway.url, PLAIN);
  expect(got.status).toBe(200);
  expect(JSON.parse(got.text)).toMatchObject({ constructor: 1, toString: 'x' });
  expect({}).not.toHaveProperty('polluted');
});

test('bytes that an upstream sends after its answer never become the next answer, and are logged once', async () => {
  const type = { 'content-type': 'application/json' };
  const reply = (text: string) => responseBytes('length', type, JSON.stringify(completion(text)));
  const a = await startRawUpstream((socket, n) => {
    socket.write(Buffer.concat([reply(`answer ${n}`), reply('smuggled')]));
  });
  const origins: unknown[] = [];
  const settings = { HOSTED_A_BASE_URL: a.url, HOSTED_A_ASSEMBLE: 'false' };
  const gateway = await startGateway(settings, systemClock, (_level, event, fields) => {
    if (event === 'unasked_bytes') origins.push(fields?.['origin']);
  });
  for (let n = 1; n <= 3; n += 1)
    expect((await chat(gateway.url, PLAIN)).text).toContain(`"answer ${n}"`);
  expect(origins).toEqual([new URL(a.url).origin]);
});
