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
  return async () => {
    const result = await checkHealth('local');
    return result !== null && isUp(result);
  };
}

test('the answer to a health check that is over 64 KiB counts by its status', async () => {
  const body = 'x'.repeat(70_000);
  const answer = (status: number) =>
    `HTTP/1.1 ${status} Any\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const statuses = [200, 503];
  const check = await checking((socket) => socket.write(answer(statuses.shift() ?? 0)));
  expect([await check(), await check()]).toEqual([true, false]);
});
