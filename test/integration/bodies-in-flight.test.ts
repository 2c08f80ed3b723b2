import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { chat, HELLO, startChat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { turns } from '../support/report.ts';
import { answers, chunk, DONE, hang, stall, STOP } from '../support/upstream.ts';
import { chatBytes, chatHead, openWire } from '../support/wire.ts';
import { startBefore, startStill } from '../support/scene.ts';

/** Room for bodies of 10,000 bytes, each counted twice: as it came and as it is written. */
const BUDGET = 20_000;
const MEBIBYTE = 1024 * 1024;

const startTight = (script = answers('x')) =>
  startStill({ a: script }, { MAX_BODIES_IN_FLIGHT_BYTES: String(BUDGET) });

const bodyOf = (bytes: number) => JSON.stringify({ ...HELLO, user: 'x'.repeat(bytes) });

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

test('a body that is refused is not read to its end, and the connection is closed', async () => {
  const { clock, gateway } = await startTight();
  const first = await openWire(gateway.url);
  first.send(`${chatHead({ 'content-length': 8000 })}{`);
  await gatewayHolds(gateway.url);
  const caller = await openWire(gateway.url);
  const piece = `400\r\n${'x'.repeat(1024)}\r\n`;
  caller.send(chatHead({ 'transfer-encoding': 'chunked' }) + piece.repeat(10_000));
  await caller.received('"code":"overloaded"');
  expect(await caller.closed).toMatch(/^HTTP\/1\.1 503 /);
  const silent = await openWire(gateway.url);
  silent.send(chatHead({ 'content-length': 9000 }));
  await silent.received('"code":"overloaded"');
  clock.advance(2000);
  expect(await silent.closed).toMatch(/^HTTP\/1\.1 503 /);
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

test('the gateway does not read for long from a caller without a key', async () => {
  const clock = createManualClock();
  const gateway = await startGateway({ API_KEYS: 'k'.repeat(20) }, clock);
  const caller = await openWire(gateway.url);
  caller.send(chatHead({ 'transfer-encoding': 'chunked' }));
  await caller.received('"code":"missing_api_key"');
  const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  for (let sent = 0; sent < 10 * MEBIBYTE; sent += piece.length) caller.send(piece);
  expect(await caller.closed).toMatch(/^HTTP\/1\.1 401 /);
  const slow = await openWire(gateway.url);
  slow.send(`${chatHead({ 'content-length': 100 })}{`);
  await slow.received('"code":"missing_api_key"');
  clock.advance(2000);
  expect(await slow.closed).toMatch(/^HTTP\/1\.1 401 /);
});
