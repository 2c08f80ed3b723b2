import type { Socket } from 'node:net';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { chat, chatStream, expectServed, HELLO, startChat } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { FRAMINGS, responseBytes, startRawUpstream } from '../support/raw-upstream.ts';
import { endedInError } from '../support/protocols.ts';
import { turns } from '../support/report.ts';
import {
  answerChunks,
  chunk,
  completion,
  DONE,
  json,
  ROLE,
  sse,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const A = chunk({ content: 'a' });

const startOne = (script: Script) => startBefore({ a: script });

const withCrlf = (text: string) => text.replaceAll('\n', '\r\n');

const STREAMS: readonly [name: string, text: string][] = [
  ['LF and characters of four bytes', ROLE + chunk({ content: 'é😀' }) + STOP + DONE],
  ['CRLF', withCrlf(ROLE + A + STOP + DONE)],
  ['CR', (A + STOP + DONE).replaceAll('\n', '\r')],
  [
    'comments, pings, names, ids and data over two lines',
    `${ROLE}: hi\n\nevent: ping\ndata: {}\n\nretry: 7\n\nevent: x\nid: 1\n${A.replace(',', ',\ndata: ')}${STOP}${DONE}`,
  ],
  ['CRLF and no [DONE]', withCrlf(A + STOP)],
  ['an error among the events', `${A}data: {"error":{"message":"no"}}\n\n${A}`],
];

test.each(STREAMS)(
  'a stream that comes byte by byte gives the caller what it gives in one piece: %s',
  async (_name, text) => {
    const bytes = Buffer.from(text);
    let gateway: TestGateway | null = null;
    let pieces: readonly Buffer[] = [bytes];
    let sent = Promise.resolve();
    async function send(socket: Socket): Promise<void> {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n',
      );
      for (const piece of pieces) {
        socket.write(piece);
        if (gateway !== null) await turns(gateway, 1);
      }
      socket.end();
    }
    const a = await startRawUpstream((socket) => void (sent = send(socket)));
    gateway = await startGateway({ HOSTED_A_BASE_URL: a.url });
    const whole = await chatStream(gateway.url);
    await sent;
    pieces = [...bytes].map((byte) => Buffer.of(byte));
    const inPieces = await chatStream(gateway.url);
    // An error ends the answer before its last byte is sent.
    await sent;
    expect(inPieces.text).toBe(whole.text);
  },
);

test.each(STREAMS.slice(0, 4))(
  'a stream in lines of %s arrives unchanged in one piece, but without ids, and no proxy is to hold it back',
  async (_name, text) => {
    const { url } = await startOne(sse(text));
    const answer = await chatStream(url);
    // Behind an id, OpenAI's Python client makes an event of each comment (openai/openai-python#2722).
    expect(answer.text).toBe(text.replace('id: 1\n', ''));
    expect(answer.headers['x-accel-buffering']).toBe('no');
  },
);

const TOO_LARGE = chunk({ content: 'x'.repeat(5 * 1024 * 1024) });

test('an event over 4 MiB after the commit ends the stream with an error event', async () => {
  const { url } = await startOne(sse(A, TOO_LARGE, STOP, DONE));
  const { text } = await chatStream(url);
  expect(endedInError(text)).toEqual({ before: A, code: 'upstream_bad_response' });
});

test('more than 64 KiB before any content is a bad response', async () => {
  const comments = Array.from({ length: 70 }, () => `: ${'x'.repeat(1000)}\n\n`);
  const { url } = await startBefore({ a: sse(...comments, A, STOP, DONE), b: sse(A, STOP, DONE) });
  const answer = await chatStream(url);
  expectServed(answer, 'hosted_b', 'hosted_a=bad_response');
  expect(answer.text).toBe(A + STOP + DONE);
});

test('up to 64 KiB before the content is held and sent along', async () => {
  const comments = Array.from({ length: 60 }, () => `: ${'x'.repeat(1000)}\n\n`).join('');
  const { url } = await startOne(sse(comments, A, STOP, DONE));
  expect((await chatStream(url)).text).toBe(comments + A + STOP + DONE);
});

/** The address of a gateway whose only upstream answers with these bytes. */
async function startRaw(bytes: Buffer): Promise<string> {
  const a = await startRawUpstream((socket) => void socket.end(bytes));
  return (await startGateway({ HOSTED_A_BASE_URL: a.url })).url;
}

describe.each(FRAMINGS)('a body framed by %s', (framing) => {
  test.each([
    ['a stream', EVENTS, answerChunks('one two').join(''), chatStream],
    ['a JSON answer', JSON_TYPE, ` ${JSON.stringify(completion('hello'), null, 2)}\n`, chat],
  ])('%s arrives whole in each framing', async (_what, headers, text, ask) => {
    const url = await startRaw(responseBytes(framing, headers, text));
    expect((await ask(url)).text).toBe(text);
  });
});

const CODINGS: readonly [string, (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  // github.com/vercel/ai/pull/17007: servers that must not compress a stream.
  ['none', (text) => Buffer.from(text)],
];

test.each(CODINGS)(
  'a stream compressed with %s, which was not asked for, is decoded',
  async (coding, compress) => {
    const text = answerChunks('one two').join('');
    const headers = { ...EVENTS, 'content-encoding': coding };
    const { url } = await startOne(
      ({ res }) => void res.writeHead(200, headers).end(compress(text)),
    );
    const answer = await chatStream(url);
    expect(answer.text).toBe(text);
    expect(answer.headers).not.toHaveProperty('content-encoding');
  },
);

test('a compressed stream reaches the caller event by event', async () => {
  const { gateway, a } = await startBefore({ a: () => {} });
  const pending = startChat(gateway.url, { ...HELLO, stream: true });
  const { res } = await a.call(1);
  res.writeHead(200, { ...EVENTS, 'content-encoding': 'gzip' });
  const gzip = createGzip();
  gzip.pipe(res);
  for (let token = 0; token < 5; token += 1) {
    gzip.write(chunk({ content: `token ${token}.` }));
    gzip.flush();
    await pending.received(`token ${token}.`);
  }
  gzip.end(STOP + DONE);
  expect((await pending.answer).text).toContain(STOP + DONE);
});

test.each([
  ['application/json', JSON_TYPE],
  ['text/plain', { 'content-type': 'text/plain' }],
  ['nothing', {}],
])('stream events labelled as %s reach a caller of a stream', async (_label, headers) => {
  const text = ROLE + A + STOP + DONE;
  const { url } = await startOne(({ res }) => void res.writeHead(200, headers).end(text));
  const answer = await chatStream(url);
  expect([answer.status, answer.text]).toEqual([200, text]);
  expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
});

const PLAIN = { ...completion('hello'), usage: { total_tokens: 9 }, timings: { ms: 1 } };

const ASKS = { stream_options: { include_usage: true } };

test.each([
  ['without usage', {}, []],
  ['with usage where it was asked for', ASKS, [{ total_tokens: 9 }]],
])(
  'a JSON answer becomes one chunk %s and [DONE] for a caller of a stream',
  async (_name, more, usages) => {
    const { url } = await startOne(json(200, PLAIN));
    const answer = await chatStream(url, more);
    const events = answer.text.split('\n\n');
    expect(events.splice(-2)).toEqual(['data: [DONE]', '']);
    const chunks = events.map((event) => JSON.parse(event.slice(6)) as Record<string, unknown>);
    const delta = { role: 'assistant', content: 'hello' };
    expect(chunks[0]).toEqual({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      timings: { ms: 1 },
      choices: [{ index: 0, delta, finish_reason: 'stop' }],
    });
    expect(chunks.slice(1).map((each) => each['usage'])).toEqual(usages);
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
  },
);

test.each([
  ['plain', false],
  ['stream', true],
])('a whole answer labelled as events reaches a %s caller', async (_name, isStream) => {
  const { url } = await startOne(json(200, completion('hello'), EVENTS));
  const { text, reason } = await (isStream ? chatStream(url) : chat(url));
  expect(reason).toBe('none');
  expect(text).toMatch(isStream ? /^data: .*"content":"hello"/ : /"content":"hello"/);
});

test('blanks before an unlabelled JSON answer stay with it', async () => {
  const text = `\n\n${JSON.stringify(completion('hello'))}`;
  const unlabelled: Script = ({ res }) => {
    res.writeHead(200);
    res.write(text.slice(0, 1));
    setImmediate(() => res.end(text.slice(1)));
  };
  const { url } = await startOne(unlabelled);
  expect((await chat(url)).text).toBe(text);
});
