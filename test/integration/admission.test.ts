import { expect, test } from 'vitest';
import { chat, type Pending, startChat } from '../support/client.ts';
import { expectError } from '../support/http.ts';
import { answers, error, hang, type UpstreamCall } from '../support/upstream.ts';
import { startStill } from '../support/scene.ts';

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

test('a raised limit holds for the next request', async () => {
  const { gateway } = await startFull();
  await gateway.set({ gateway: { maxConcurrentRequests: 2 } });
  expect(await chat(gateway.url)).toMatchObject({ status: 200 });
});
