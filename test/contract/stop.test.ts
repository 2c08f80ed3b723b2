import { expect, test } from 'vitest';
import { turns } from '../support/report.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  json,
  ROLE,
  stall,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { chatBytes, openWire } from '../support/wire.ts';
import { HELLO } from '../support/client.ts';
import { startStill } from '../support/scene.ts';

// How connections end when the gateway stops; time stands still, so that nothing ends by waiting.

const started = (script: Script = answers('hi')) => startStill({ a: script });

test('a connection without a running request is closed at once by a stop', async () => {
  const { gateway } = await started();
  const silent = await openWire(gateway.url);
  const halfway = await openWire(gateway.url);
  halfway.send('GET /healthz HTTP/1.1\r\nHost: local');
  const kept = await openWire(gateway.url);
  kept.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await kept.received('{"status":"ok"}');
  await turns(gateway);
  await gateway.host.stop();
  expect(await silent.closed).toBe('');
  await halfway.closed;
  expect(await kept.closed).toMatch(/\{"status":"ok"\}$/);
});

test('a running answer is finished at a stop, its connection closed, and a request behind it refused', async () => {
  const { a, gateway } = await started(stall(ROLE, chunk({ content: 'a' })));
  const wire = await openWire(gateway.url);
  wire.send(chatBytes({ ...HELLO, stream: true }));
  const { res } = await a.call(1);
  await wire.received('"a"');
  const stopped = gateway.host.stop();
  wire.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  res.end(chunk({ content: 'b' }) + STOP + DONE);
  await stopped;
  const text = await wire.closed;
  expect(text).toContain('"b"');
  expect(text).toContain('[DONE]');
  // The connection may be closed before it is read.
  const [, behind = '503 "shutting_down"'] = text.split('[DONE]').at(-1)?.split('HTTP/1.1 ') ?? [];
  expect(behind).toMatch(/^503 [\s\S]*"shutting_down"/);
});

test('a request that arrives whole only during a stop still gets the engine of this machine', async () => {
  const upstreams = { local: answers('from my GPU'), a: answers('from the hosted one') };
  const { gateway } = await startStill(upstreams, { AGENT: 'true', AGENT_PORTS: '0' });
  const wire = await openWire(gateway.url);
  const bytes = chatBytes(HELLO);
  wire.send(bytes.slice(0, -1));
  await turns(gateway);
  const stopped = gateway.host.stop();
  wire.send(bytes.slice(-1));
  expect(await wire.closed).toContain('from my GPU');
  await stopped;
});

test('an answer on its way to a slow reader when the gateway stops arrives whole', async () => {
  // More than the sockets of both sides hold.
  const long = 'x'.repeat(24 * 1024 * 1024);
  const { a, gateway } = await started(json(200, completion(long)));
  const wire = await openWire(gateway.url, false);
  wire.pause();
  wire.send(chatBytes({ ...HELLO, n: 2 }));
  await a.call(1);
  await expect.poll(() => gateway.host.snapshot().requests[0]?.state).toBe('done');
  const stopped = gateway.host.stop();
  wire.resume();
  await stopped;
  await wire.closed;
  expect(wire.bytesReceived()).toBeGreaterThan(long.length);
});

test('a request that still runs when the grace is over is ended', async () => {
  const { a, clock, gateway } = await started(stall(ROLE, chunk({ content: 'a' })));
  const wire = await openWire(gateway.url);
  wire.send(chatBytes({ ...HELLO, stream: true }));
  await wire.received('"a"');
  const stopped = gateway.host.stop();
  clock.advance(29_999);
  (await a.call(1)).res.write(chunk({ content: 'late' }));
  await wire.received('late');
  clock.advance(1);
  await stopped;
  expect(await wire.closed).not.toContain('[DONE]');
  await a.gone(1);
});
