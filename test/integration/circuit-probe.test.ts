import { describe, expect, test } from 'vitest';
import { readControlToken } from '../../main/platform/secrets.ts';
import { chat, HELLO, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { inFlight } from '../support/report.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  ROLE,
  stall,
  startUpstream,
  STOP,
  type Upstream,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const DEAD = error(503);
const MINUTE_MS = 60_000;

const circuitOf = (gateway: TestGateway) =>
  gateway.host.snapshot().status.circuits['hosted_a'] ?? { open: null, cooldownRemainingMs: null };

/** A gateway whose first upstream has failed once, which opened its circuit. */
async function startOpened(settings: Readonly<Record<string, string>> = {}) {
  const clock = createManualClock();
  const a = await startUpstream(DEAD);
  const b = await startUpstream(answers('from b'));
  const gateway = await startGateway(
    { ...at({ hosted_a: a.url, hosted_b: b.url }), FAIL_THRESHOLD: '1', ...settings },
    clock,
  );
  await chat(gateway.url);
  expect(circuitOf(gateway)).toMatchObject({ open: true, cooldownRemainingMs: MINUTE_MS });
  return { clock, a, b, gateway };
}

/** Holds that no probe is out and that the next request is let in as one. */
async function expectFree(gateway: TestGateway, upstream: Upstream): Promise<void> {
  expect(circuitOf(gateway)).toMatchObject({ open: true, cooldownRemainingMs: 0, fails: 1 });
  upstream.script = answers('from a');
  expect((await chat(gateway.url, { ...HELLO, model: 'm2' })).upstream).toBe('hosted_a');
  expect(circuitOf(gateway)).toMatchObject({ open: false });
}

describe('after the cool-down', () => {
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
      expect(other).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=circuit_open' });
    }
    expect(a.calls).toHaveLength(2);
    a.script = answers('from a');
    await answers('from the probe')(call);
    expect((await probe).text).toContain('probe');
    const after = await Promise.all(Array.from({ length: 5 }, () => chat(gateway.url)));
    expect(new Set(after.map(({ upstream }) => upstream))).toEqual(new Set(['hosted_a']));
  });

  test('one of many requests at the same time is the probe', async () => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    const all = await Promise.all(Array.from({ length: 20 }, () => chat(gateway.url)));
    expect(a.calls).toHaveLength(2);
    expect(all.filter(({ reason }) => reason === 'hosted_a=http_503')).toHaveLength(1);
    expect(all.filter(({ reason }) => reason === 'hosted_a=circuit_open')).toHaveLength(19);
  });

  test('a probe that streams closes the circuit at its end, not at its beginning', async () => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    a.script = stall(ROLE, chunk({ content: 'a' }));
    const probe = startChat(gateway.url, { ...HELLO, stream: true });
    await probe.received('"a"');
    expect(circuitOf(gateway)).toMatchObject({ open: true, cooldownRemainingMs: 0 });
    expect((await chat(gateway.url)).reason).toBe('hosted_a=circuit_open');
    const { res } = await a.call(2);
    res.end(STOP + DONE);
    await probe.answer;
    expect(circuitOf(gateway)).toMatchObject({ open: false });
  });

  test('a probe that breaks after its beginning opens the circuit for longer', async () => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    a.script = stall(ROLE, chunk({ content: 'a' }));
    const probe = startChat(gateway.url, { ...HELLO, stream: true });
    await probe.received('"a"');
    (await a.call(2)).socket.destroy();
    await probe.answer;
    expect(circuitOf(gateway)).toMatchObject({ open: true, cooldownRemainingMs: 2 * MINUTE_MS });
  });

  test('a probe whose caller leaves frees its place for the next request', async () => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    a.script = hang;
    const probe = startChat(gateway.url);
    const { gone } = await a.call(2);
    probe.leave();
    await gone;
    await expect.poll(() => inFlight(gateway)).toBe(0);
    await expectFree(gateway, a);
  });

  test.each([
    ['a 400', error(400)],
    ['a 404 for a missing model', error(404, 'no such model')],
  ])('a probe that is answered with %s frees its place for the next request', async (_, script) => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    a.script = script;
    await chat(gateway.url, { ...HELLO, model: 'm1' });
    expect(a.calls).toHaveLength(2);
    await expectFree(gateway, a);
  });

  test('a reset while the probe is running closes the circuit, and the probe no longer counts', async () => {
    const { clock, a, gateway } = await startOpened();
    clock.advance(MINUTE_MS);
    a.script = hang;
    const probe = chat(gateway.url);
    const call = await a.call(2);
    await fetch(`${gateway.url}/api/v1/circuits/hosted_a/reset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${readControlToken(gateway.dataDirectory)}` },
    });
    await DEAD(call);
    expect((await probe).reason).toBe('hosted_a=http_503');
    expect(circuitOf(gateway)).toMatchObject({ open: false, consecutiveFails: 0, fails: 2 });
  });
});

test('each slow probe that fails doubles the cool-down, to 10 minutes at most', async () => {
  const { clock, a, gateway } = await startOpened({ HEALTH_CHECKS: 'false', HEDGE: 'off' });
  a.script = hang;
  for (const [n, minutes] of [2, 4, 8, 10, 10].entries()) {
    clock.advance(circuitOf(gateway).cooldownRemainingMs ?? 0);
    const pending = chat(gateway.url);
    await a.call(n + 2);
    clock.advance(30_000);
    expect((await pending).reason).toBe('hosted_a=timeout');
    expect(circuitOf(gateway).cooldownRemainingMs).toBe(minutes * MINUTE_MS);
  }
});

test('a probe that fails quickly leaves the cool-down as it was', async () => {
  const { clock, a, gateway } = await startOpened({ HEALTH_CHECKS: 'false' });
  for (let n = 0; n < 5; n += 1) {
    clock.advance(circuitOf(gateway).cooldownRemainingMs ?? 0);
    expect((await chat(gateway.url)).reason).toBe('hosted_a=http_503');
    expect(circuitOf(gateway).cooldownRemainingMs).toBe(MINUTE_MS);
  }
  expect(a.calls).toHaveLength(6);
});

test('a probe that fails after a silence longer than the hedge delay doubles the cool-down', async () => {
  const { clock, a, gateway } = await startOpened({ HEALTH_CHECKS: 'false', HEDGE: 'off' });
  a.script = hang;
  clock.advance(MINUTE_MS);
  const pending = chat(gateway.url);
  const call = await a.call(2);
  clock.advance(5000);
  await DEAD(call);
  expect((await pending).reason).toBe('hosted_a=http_503');
  expect(circuitOf(gateway).cooldownRemainingMs).toBe(2 * MINUTE_MS);
});

test('a circuit that one request opens holds for requests that run alongside it', async () => {
  const clock = createManualClock();
  const a = await startUpstream(hang);
  const b = await startUpstream(answers('from b'));
  const gateway = await startGateway(
    { ...at({ hosted_a: a.url, hosted_b: b.url }), FAIL_THRESHOLD: '3' },
    clock,
  );
  const running = Array.from({ length: 8 }, () => chat(gateway.url));
  const calls = await Promise.all(running.map((_, n) => a.call(n + 1)));
  for (const call of calls) await DEAD(call);
  await Promise.all(running);
  // Those that were let in before it opened count, but neither reopen nor lengthen it.
  expect(circuitOf(gateway)).toMatchObject({
    open: true,
    fails: 8,
    consecutiveFails: 3,
    cooldownRemainingMs: MINUTE_MS,
  });
});
