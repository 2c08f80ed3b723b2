import { expect, onTestFinished, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { isUp, createHealthCheck } from '../../../main/gateway/routing/health-check-routes.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { type Answering, startByteServer } from '../../support/byte-server.ts';
import { configOf } from '../../support/config.ts';
import { targetAt } from '../../support/targets.ts';

/** The health check of `local`, whose engine is a server of bytes. */
async function checking(answering: Answering) {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const server = await startByteServer('http', answering);
  const config = configOf({});
  const target = targetAt(server.origin);
  const checkHealth = createHealthCheck({
    http,
    clock: systemClock,
    config: () => config,
    circuits: createCircuits({
      memory: createMemory(systemClock),
      clock: systemClock,
      random: () => 0.5,
      config: () => config,
      changed() {},
      opened() {},
    }),
    pickLocal: () => ({ kind: 'target', target }),
    remotes: () => [],
  });
  return () => checkHealth('local');
}

const answer = (status: number, body: string) =>
  `HTTP/1.1 ${status} Any\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

test('the answer to a health check that is over 64 KiB counts by its status', async () => {
  const body = 'x'.repeat(70_000);
  const statuses = [200, 503];
  const check = await checking((socket) => socket.write(answer(statuses.shift() ?? 0, body)));
  const failed = { kind: 'failed', reason: 'http_503' };
  expect([await check(), await check()]).toEqual([{ kind: 'answered' }, failed]);
});

test.each([
  // llama.cpp; an SGLang that starts; the proxy before an engine.
  ['{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', 'loading'],
  ['', 'loading'],
  ['<h1>503 Service Temporarily Unavailable</h1>', 'http_503'],
])('an engine whose health check answers 503 with %j is %s, and not up', async (body, reason) => {
  const check = await checking((socket) => socket.write(answer(503, body)));
  const result = await check();
  expect(result).toEqual({ kind: 'failed', reason });
  expect(result && isUp(result)).toBe(false);
});
