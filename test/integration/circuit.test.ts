import { expect, test } from 'vitest';
import { chat, chatStream } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const DEAD = error(503, 'out of order');

test('failThreshold failures in a row open the circuit, and the upstream is skipped from then on', async () => {
  const local = await startUpstream(DEAD);
  const hosted = await startUpstream(answers('hi'));
  const gateway = await startGateway({
    ...at({ local: local.url, hosted_a: hosted.url }),
    FAIL_THRESHOLD: '2',
  });
  const reasons: string[] = [];
  for (let n = 0; n < 4; n += 1) reasons.push((await chat(gateway.url)).reason);
  expect(reasons).toEqual([
    'local=http_503',
    'local=http_503',
    'local=circuit_open',
    'local=circuit_open',
  ]);
  expect(local.calls).toHaveLength(2);
});

test('requests for a hundred seconds spend on a dead local its threshold and one quick probe in 15 s at most', async () => {
  const clock = createManualClock();
  const local = await startUpstream(DEAD);
  const hosted = await startUpstream(answers('hi'));
  const gateway = await startGateway(at({ local: local.url, hosted_a: hosted.url }), clock);
  for (let n = 0; n < 250; n += 1) {
    await chat(gateway.url);
    clock.advance(400);
  }
  // 5 to open it at 0 s; it answers looks, 100 s go by, and a look may take a few requests' time.
  expect(local.calls.length).toBeGreaterThanOrEqual(5 + 1);
  expect(local.calls.length).toBeLessThanOrEqual(5 + 6);
});

test('the upstream whose cool-down ends first is called where all circuits are open', async () => {
  const clock = createManualClock();
  const a = await startUpstream(DEAD, answers('back'));
  const b = await startUpstream(DEAD);
  const gateway = await startGateway(
    { ...at({ hosted_a: a.url, hosted_b: b.url }), FAIL_THRESHOLD: '1' },
    clock,
  );
  expect((await chat(gateway.url)).status).toBe(503);
  const answer = await chat(gateway.url);
  expect(answer).toMatchObject({
    status: 200,
    upstream: 'hosted_a',
    reason: 'hosted_b=circuit_open',
  });
});

test('a caller gets a 429 with the smallest Retry-After where all upstreams are rate limited, and none is called', async () => {
  const a = await startUpstream(error(429, 'no', null, { 'retry-after': '40' }));
  const b = await startUpstream(error(429, 'no', null, { 'retry-after': '20' }));
  const gateway = await startGateway(at({ hosted_a: a.url, hosted_b: b.url }));
  await chatStream(gateway.url);
  const answer = await chatStream(gateway.url);
  expect(answer.status).toBe(429);
  expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(20);
  expect([a.calls.length, b.calls.length]).toEqual([1, 1]);
});
