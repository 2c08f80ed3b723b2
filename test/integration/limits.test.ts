import { describe, expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { answers } from '../support/upstream.ts';
import { chatHead, openWire } from '../support/wire.ts';
import { startStill } from '../support/scene.ts';

const LIMIT = 2000;

/** A chat completion of exactly `bytes`. */
function bodyOf(bytes: number): string {
  const frame = JSON.stringify({ ...HELLO, user: '' });
  return JSON.stringify({ ...HELLO, user: 'x'.repeat(bytes - frame.length) });
}

const startLimited = () => startStill({ a: answers('x') }, { MAX_BODY_BYTES: String(LIMIT) });

const chunked = (body: string, size: number) =>
  body
    .match(new RegExp(`.{1,${size}}`, 'gs'))
    ?.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`) ?? [];

describe.each(['Content-Length', 'chunked'])('a body sent by %s', (framing) => {
  const head =
    framing === 'chunked'
      ? () => chatHead({ 'transfer-encoding': 'chunked', connection: 'close' })
      : (bytes: number) => chatHead({ 'content-length': bytes, connection: 'close' });
  const wire = (body: string) =>
    framing === 'chunked' ? `${chunked(body, 700).join('')}0\r\n\r\n` : body;

  test('a body of exactly the limit passes', async () => {
    const { a, url } = await startLimited();
    const caller = await openWire(url);
    caller.send(head(LIMIT) + wire(bodyOf(LIMIT)));
    expect(await caller.closed).toMatch(/^HTTP\/1\.1 200 /);
    expect(a.calls).toHaveLength(1);
  });

  test('a body of one byte more than the limit gets a 413, and no upstream is called', async () => {
    const { a, url } = await startLimited();
    const caller = await openWire(url);
    caller.send(head(LIMIT + 1) + wire(bodyOf(LIMIT + 1)));
    const answer = await caller.closed;
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/\r\nx-gateway-upstream: none\r\n/i);
    expect(answer).toMatch(/\r\nx-gateway-fallback-reason: none\r\n/i);
    expect(answer).toContain('"code":"body_too_large"');
    expect(a.calls).toHaveLength(0);
  });

  test('a body without end gets a 413 at once, and soon the end of the connection', async () => {
    const { clock, url } = await startLimited();
    const caller = await openWire(url);
    caller.send(head(1e15));
    const part = framing === 'chunked' ? `10000\r\n${'x'.repeat(65_536)}\r\n` : 'x'.repeat(65_536);
    for (let sent = 0; sent < 10; sent += 1) caller.send(part);
    await caller.received('"code":"body_too_large"');
    clock.advance(2000);
    expect(await caller.closed).toMatch(/^HTTP\/1\.1 413 /);
  });
});

const HEAD = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n';

test.each([
  ['garbage', '\x16\x03\x01 garbage\r\n\r\n'],
  ['two lengths', `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
  ['a length and chunks', `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a length that is none', `${HEAD}content-length: -1\r\n\r\n`],
])(
  '%s in place of a request ends the connection with a 400 and nothing else',
  async (_name, bytes) => {
    const { a, url } = await startLimited();
    const caller = await openWire(url);
    caller.send(bytes);
    expect(await caller.closed).toMatch(/^HTTP\/1\.1 400 /);
    expect((await chat(url)).status).toBe(200);
    expect(a.calls).toHaveLength(1);
  },
);
