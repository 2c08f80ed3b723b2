import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { openWire, type Wire } from '../support/wire.ts';

const ROUTES = ['/api/v1/providers/enroll', '/api/v1/providers/heartbeat', '/api/v1/sessions'];
const [ENROLL = ''] = ROUTES;

function head(path: string, framing: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
}

async function startMessages() {
  const clock = createManualClock();
  const { url } = await startGateway({}, clock);
  /** Begins a message and leaves it unfinished, once the gateway waits for the rest. */
  const begin = async (path = ENROLL): Promise<Wire> => {
    const before = clock.pending();
    const wire = await openWire(url);
    wire.send(`${head(path, 'content-length: 100')}{`);
    await expect.poll(() => clock.pending()).toBeGreaterThan(before);
    return wire;
  };
  return { clock, url, begin };
}

test.each(ROUTES)('a body that does not come in time is a 408 at %s', async (path) => {
  const { clock, begin } = await startMessages();
  const agent = await begin(path);
  clock.advance(5000);
  await agent.received('"code":"request_timeout"');
  clock.advance(2000);
  expect(await agent.closed).toMatch(/^HTTP\/1\.1 408 /);
});

test('the oldest of too many bodies that are waited for gives way, and a whole message still gets through', async () => {
  const { clock, url, begin } = await startMessages();
  const idle = clock.pending();
  const oldest = await begin();
  const timersOfOne = clock.pending() - idle;
  const others = await Promise.all(Array.from({ length: 63 }, () => openWire(url)));
  const waiting = clock.pending();
  for (const wire of others) wire.send(`${head(ENROLL, 'content-length: 100')}{`);
  await expect.poll(() => clock.pending()).toBe(waiting + others.length * timersOfOne);
  const whole = await openWire(url);
  whole.send(`${head(ENROLL, 'content-length: 2')}{}`);
  await whole.received('"param":"token"');
  await oldest.received('"code":"overloaded"');
  clock.advance(2000);
  expect(await oldest.closed).toMatch(/^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n/i);
});

test('a sender that continues after a refusal is cut off', async () => {
  const { clock, url } = await startMessages();
  const agent = await openWire(url);
  agent.send(head(ENROLL, 'transfer-encoding: chunked'));
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  for (let sent = 0; sent < 20_000_000; sent += chunk.length) agent.send(chunk);
  await agent.received('"code":"body_too_large"');
  expect(await agent.closed).toMatch(/^HTTP\/1\.1 413 /);
  expect(clock.ticks()).toBe(0);
});
