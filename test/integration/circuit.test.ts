import { expect, test } from 'vitest';
import { chat, expectServed, HELLO, startChat } from '../support/client.ts';
import { answers, chunk, DONE, error, hang, ROLE, stall, STOP } from '../support/upstream.ts';
import { startStill } from '../support/scene.ts';
import { circuitOf } from '../support/report.ts';

const DEAD = error(503, 'out of order');

test('requests for a hundred seconds spend on a dead local its threshold and one quick probe in 15 s at most', async () => {
  const { gateway, local, clock } = await startStill({ local: DEAD, a: answers('hi') });
  for (let n = 0; n < 100; n += 1) {
    await chat(gateway.url);
    clock.advance(1000);
  }
  // 5 to open it at 0 s; it answers looks, 100 s go by, and a look may take a few requests' time.
  expect(local.calls.length).toBeGreaterThanOrEqual(5 + 1);
  expect(local.calls.length).toBeLessThanOrEqual(5 + 6);
});

const MINUTE_MS = 60_000;

/** A gateway whose first upstream has failed once, which opened its circuit. */
async function startOpened() {
  const opened = await startStill({ a: DEAD, b: answers('from b') }, { FAIL_THRESHOLD: '1' });
  await chat(opened.url);
  const circuit = { open: true, cooldownRemainingMs: MINUTE_MS };
  expect(circuitOf(opened.gateway, 'hosted_a')).toMatchObject(circuit);
  return opened;
}

test('one request after the cool-down is the probe, and all others skip the upstream at once', async () => {
  const { clock, a, gateway } = await startOpened();
  clock.advance(MINUTE_MS - 1);
  expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
  clock.advance(1);
  a.script = hang;
  const probe = chat(gateway.url);
  const call = await a.call(2);
  const others = await Promise.all(Array.from({ length: 20 }, () => chat(gateway.url)));
  for (const other of others) {
    expectServed(other, 'hosted_b', 'hosted_a=circuit_open');
  }
  expect(a.calls).toHaveLength(2);
  a.script = answers('from a');
  await answers('from the probe')(call);
  expect((await probe).text).toContain('probe');
  const after = await Promise.all(Array.from({ length: 5 }, () => chat(gateway.url)));
  expect(new Set(after.map(({ upstream }) => upstream))).toEqual(new Set(['hosted_a']));
});

test('a probe that streams closes the circuit at its end, not at its beginning', async () => {
  const { clock, a, gateway } = await startOpened();
  clock.advance(MINUTE_MS);
  a.script = stall(ROLE, chunk({ content: 'a' }));
  const probe = startChat(gateway.url, { ...HELLO, stream: true });
  await probe.received('"a"');
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: true, cooldownRemainingMs: 0 });
  expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
  const { res } = await a.call(2);
  res.end(STOP + DONE);
  await probe.answer;
  expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false });
});
