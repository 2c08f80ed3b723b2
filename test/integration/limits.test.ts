import { describe, expect, test } from 'vitest';
import { chat, HELLO, type Pending, startChat } from '../support/client.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  stall,
  STOP,
  type UpstreamCall,
} from '../support/upstream.ts';
import { chatBytes, chatHead, openWire } from '../support/wire.ts';
import { startBefore, startStill } from '../support/scene.ts';
import { expectError } from '../support/http.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { turns } from '../support/report.ts';

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

/** A gateway that may run one request, and runs it. */
async function startFull() {
  const { gateway, a } = await startStill({ a: [hang, answers('x')] });
  await gateway.set({ gateway: { maxConcurrentRequests: 1 } });
  const first = startChat(gateway.url);
  const call = await a.call(1);
  const admission = async () => (await gateway.status()).admission;
  return { upstream: a, gateway, first, call, admission };
}

test('a request over the limit of running ones gets a 503 with Retry-After, and no upstream is called', async () => {
  const { upstream, gateway, admission } = await startFull();
  const answer = await chat(gateway.url);
  const headers = { 'retry-after': '2', 'x-gateway-request-id': expect.any(String) };
  expect(answer).toMatchObject({ upstream: 'none', reason: 'none', headers });
  const message = expectError(answer, 503, 'overloaded');
  expect(message).toContain('INGLENOOK_MAX_CONCURRENT_REQUESTS');
  expect(await admission()).toEqual({ running: 1, limit: 1, refused: 1 });
  expect(upstream.calls).toHaveLength(1);
});

test.each<[ends: string, end: (first: Pending, call: UpstreamCall) => unknown]>([
  ['was answered', (_first, call) => answers('x')(call)],
  ['was left by its caller', (first) => first.leave()],
  ['failed', (_first, call) => error(400)(call)],
])('a place is free again when its request %s', async (_ends, end) => {
  const { gateway, first, call, admission } = await startFull();
  await end(first, call);
  await expect.poll(admission).toEqual({ running: 0, limit: 1, refused: 0 });
  expect(await chat(gateway.url)).toMatchObject({ status: 200 });
});

test('a request that is refused as invalid takes no place', async () => {
  const { gateway } = await startFull();
  expect(await chat(gateway.url, { messages: [] })).toMatchObject({ status: 400 });
});

/** Room for bodies of 10,000 bytes, each counted twice: as it came and as it is written. */
const BUDGET = 20_000;
const MEBIBYTE = 1024 * 1024;

const startTight = (script = answers('x')) =>
  startStill({ a: script }, { MAX_BODIES_IN_FLIGHT_BYTES: String(BUDGET) });

/** Asks with a body that has room beside nothing else, until there is something. */
async function gatewayHolds(url: string) {
  for (;;) {
    const answer = await chat(url, bodyOf(8000));
    if (answer.status !== 200) return answer;
  }
}

test('the room of a body is free again once its request was answered, refused or left', async () => {
  const { gateway } = await startTight();
  for (let round = 0; round < 5; round += 1) {
    // That a caller is gone is heard a little later.
    await expect.poll(async () => (await chat(gateway.url, bodyOf(8000))).status).toBe(200);
    expect(await chat(gateway.url, 'x'.repeat(8000))).toMatchObject({ status: 400 });
    expect(await chat(gateway.url, bodyOf(20_000))).toMatchObject({ status: 413 });
    const caller = await openWire(gateway.url);
    caller.send(`${chatHead({ 'content-length': 8000 })}{`);
    caller.leave();
    await caller.closed;
  }
  await expect.poll(async () => (await chat(gateway.url, bodyOf(8000))).status).toBe(200);
});

test('a body in chunks counts as it comes, and is freed when it is refused', async () => {
  const { gateway } = await startTight();
  const [first, second] = [await openWire(gateway.url), await openWire(gateway.url)];
  const head = chatHead({ 'transfer-encoding': 'chunked' });
  const half = `${(6000).toString(16)}\r\n${' '.repeat(6000)}\r\n`;
  first.send(head + half);
  second.send(head + half);
  const refused = await Promise.race([
    first.received('"code":"overloaded"').then(() => first),
    second.received('"code":"overloaded"').then(() => second),
  ]);
  const other = refused === first ? second : first;
  const body = JSON.stringify(HELLO);
  other.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  await expect(other.received('chat.completion')).resolves.toBeUndefined();
});

/** Holds that a refused caller is cut off, whether it sends without end or falls silent. */
async function expectCutOff(url: string, clock: ManualClock, status: number, code: string) {
  const endless = await openWire(url);
  const piece = `400\r\n${'x'.repeat(1024)}\r\n`;
  endless.send(chatHead({ 'transfer-encoding': 'chunked' }) + piece.repeat(10_000));
  await endless.received(`"code":"${code}"`);
  const silent = await openWire(url);
  silent.send(`${chatHead({ 'content-length': 9000 })}{`);
  await silent.received(`"code":"${code}"`);
  const answer = new RegExp(`^HTTP/1\\.1 ${status} `);
  expect(await endless.closed).toMatch(answer);
  clock.advance(2000);
  expect(await silent.closed).toMatch(answer);
}

test('a body for which there is no room is not read to its end, and the connection is closed', async () => {
  const { clock, gateway } = await startTight();
  const first = await openWire(gateway.url);
  first.send(`${chatHead({ 'content-length': 8000 })}{`);
  await gatewayHolds(gateway.url);
  await expectCutOff(gateway.url, clock, 503, 'overloaded');
});

test('the gateway does not read for long from a caller without a key', async () => {
  const clock = createManualClock();
  const { url } = await startGateway({ API_KEYS: 'k'.repeat(20) }, clock);
  await expectCutOff(url, clock, 401, 'missing_api_key');
});

test('a refused request whose body has come leaves the connection to the next one', async () => {
  const { clock, gateway, a } = await startStill({ a: stall(chunk({ content: 'begun' })) });
  const caller = await openWire(gateway.url);
  caller.send(chatBytes({ model: 'auto' }));
  await caller.received('"code":"invalid_request"');
  caller.send(chatBytes({ ...HELLO, stream: true }));
  const { res } = await a.call(1);
  await caller.received('begun');
  clock.advance(2000);
  await turns(gateway);
  res.end(STOP + DONE);
  await expect(caller.received('[DONE]')).resolves.toBeUndefined();
});

test('two hundred slow uploads of 32 MiB do not keep another caller out', async () => {
  const { gateway } = await startBefore({ a: answers('x') });
  const begun = `${chatHead({ 'content-length': 32 * MEBIBYTE })}{`;
  for (let upload = 0; upload < 200; upload += 1) (await openWire(gateway.url)).send(begun);
  await turns(gateway, 20);
  expect(await chat(gateway.url, HELLO)).toMatchObject({ status: 200 });
  expect(await chat(gateway.url, bodyOf(MEBIBYTE))).toMatchObject({ status: 200 });
});

test('the body of a request is held until its answer has gone out', async () => {
  const { gateway, a } = await startTight(hang);
  const first = startChat(gateway.url, bodyOf(8000));
  await a.call(1);
  const refused = { status: 503, upstream: 'none', reason: 'none' };
  expect(await chat(gateway.url, bodyOf(8000))).toMatchObject(refused);
  a.script = answers('x');
  first.leave();
  await expect.poll(async () => (await chat(gateway.url, bodyOf(8000))).status).toBe(200);
});
