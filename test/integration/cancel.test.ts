import { describe, expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { startChat } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { startBefore, startStill, PLAIN, STREAM } from '../support/scene.ts';
import {
  answers,
  chunk,
  error,
  hang,
  headOnly,
  ROLE,
  type Script,
  stall,
} from '../support/upstream.ts';
import { chatBytes, chatHead, openWire } from '../support/wire.ts';

const A = chunk({ content: 'a' });

/** Nothing of the request is left: no attempt, no mark on anybody's health, no further call. */
async function expectForgotten(gateway: TestGateway): Promise<void> {
  await turns(gateway);
  expect(inFlight(gateway)).toBe(0);
  for (const id of ['hosted_a', 'hosted_b', 'ondemand'] as const) {
    expect(await counted(gateway, id)).toEqual({ fails: 0, successes: 0 });
  }
  const { requests } = gateway.host.snapshot();
  expect(requests.map(({ state }) => state)).not.toContain('running');
}

describe.each<[phase: string, script: Script, body: object, settings: Record<string, string>]>([
  ['before the head', hang, STREAM, {}],
  ['between head and content', headOnly, STREAM, {}],
  ['while events are held', stall(ROLE, ': hi\n\n'), STREAM, {}],
  ['in the middle of an event', stall(A.slice(0, 50)), STREAM, {}],
  ['before the head of an assembled answer', hang, PLAIN, {}],
  ['while an answer is put together', stall(ROLE, A, A), PLAIN, {}],
  ['while a whole answer is waited for', hang, PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
])('a caller that leaves %s', (_phase, script, body, settings) => {
  test('a caller that leaves before the commit aborts the upstream call at once, and no other upstream is called', async () => {
    const { gateway, a, b } = await startBefore({ a: script, b: answers('from b') }, settings);
    const took = await fastest(async () => {
      const pending = startChat(gateway.url, body);
      const call = await a.call(a.calls.length + 1);
      await turns(gateway);
      pending.leave();
      return millisecondsUntil(call.gone);
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectForgotten(gateway);
    expect(b.calls).toHaveLength(0);
  });
});

test('a caller that leaves while it reads slowly aborts the upstream call at once', async () => {
  const event = chunk({ content: 'x'.repeat(256 * 1024) });
  const flood: Script = async ({ res, socket, gone }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!socket.destroyed) {
      if (!res.write(event)) {
        await Promise.race([new Promise((resolve) => res.once('drain', resolve)), gone]);
      }
    }
  };
  const { gateway, a } = await startBefore({ a: flood });
  const took = await fastest(async () => {
    const caller = await openWire(gateway.url, false);
    caller.send(chatBytes(STREAM));
    const call = await a.call(a.calls.length + 1);
    await caller.received('xxx');
    caller.pause();
    while (!call.res.writableNeedDrain) await turns(gateway, 5);
    await turns(gateway, 20);
    caller.leave();
    return millisecondsUntil(call.gone);
  });
  expect(took).toBeLessThan(AT_ONCE_MS);
  await expectForgotten(gateway);
});

test('a caller that leaves while it sends its body leaves no trace', async () => {
  const { gateway, a } = await startBefore({ a: answers('from a') });
  const caller = await openWire(gateway.url);
  caller.send(`${chatHead({ 'content-length': 1000 })}{"messages":`);
  await turns(gateway);
  caller.leave();
  await expectForgotten(gateway);
  expect(a.calls).toHaveLength(0);
  expect(gateway.host.snapshot().requests).toHaveLength(0);
});

test('a caller that leaves during the pause before a retry prevents the retry', async () => {
  const { gateway, a, b, clock } = await startStill({ a: error(500), b: answers('from b') });
  const pending = startChat(gateway.url, STREAM);
  await a.call(1);
  await turns(gateway);
  pending.leave();
  await turns(gateway);
  clock.advance(10_000);
  await turns(gateway);
  expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
  expect(inFlight(gateway)).toBe(0);
  // The try that was over had failed; the leaving adds nothing to it.
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
  expect(gateway.host.snapshot().requests.map(({ state }) => state)).toEqual(['cancelled']);
});

test('a caller that leaves between two polls of a cold start leaves no trace', async () => {
  const { gateway, ondemand, clock } = await startStill({ ondemand: error(503) });
  const pending = startChat(gateway.url, STREAM);
  await clock.timer(1000, 1000);
  pending.leave();
  await expectForgotten(gateway);
  expect(ondemand.calls).toHaveLength(1);
});
