import { expect, test } from 'vitest';
import { AT_ONCE_MS, fastest, millisecondsUntil } from '../support/at-once.ts';
import { CHAT, startChat, startCall, HELLO } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { expectAtRest, startBefore, startStill, PLAIN, STREAM } from '../support/scene.ts';
import {
  answers,
  chunk,
  error,
  half,
  hang,
  headOnly,
  ROLE,
  type Script,
  stall,
  DONE,
  sse,
  type Upstream,
} from '../support/upstream.ts';
import { chatBytes, chatHead, openWire } from '../support/wire.ts';
import { typed } from '../support/protocols.ts';
import { bearer } from '../support/http.ts';
import { usageChunk } from '../support/usage.ts';

const A = chunk({ content: 'a' });

/** Nothing of the request is left: no attempt, no mark on anybody's health, no further call. */
async function expectForgotten(gateway: TestGateway): Promise<void> {
  await expectAtRest(gateway);
  for (const id of ['hosted_a', 'hosted_b', 'ondemand'] as const) {
    expect(await counted(gateway, id)).toEqual({ fails: 0, successes: 0 });
  }
}

const EVENTS = 40;
const WORDS = Array.from({ length: EVENTS }, () => chunk({ content: 'word ' }));
const WHOLE = { settings: { HOSTED_A_ASSEMBLE: 'false' } };

/** The first 400 bytes of one that comes as JSON. */
const halfAnswer = half(`{"choices":"${'x'.repeat(388)}`);

/** Anthropic tells one token at the beginning. */
const usage = { input_tokens: 100, output_tokens: 1 };
const message = { id: 'm', type: 'message', role: 'assistant', content: [], usage };
const delta = { type: 'text_delta', text: 'word ' };
const halfMessage = stall(
  typed('message_start', { message }),
  ...WORDS.map(() => typed('content_block_delta', { index: 0, delta })),
);

const ASK = { ...STREAM, model: 'm', max_tokens: 5 };
const VECTORS = { path: '/v1/embeddings' };
const NATIVE = { path: '/v1/messages', received: 'word' };

interface Leaving {
  readonly path?: string;
  readonly settings?: Record<string, string>;
  /** Of the answer, before the caller leaves. */
  readonly received?: string;
}

test.each<[phase: string, script: Script, body: object, output: number, how?: Leaving]>([
  ['before the head', hang, STREAM, 0],
  ['between head and content', headOnly, STREAM, 0],
  ['while events are held', stall(ROLE, ': hi\n\n'), STREAM, 0],
  ['in the middle of an event', stall(A.slice(0, 50)), STREAM, 0],
  ['in the middle of a stream', stall(ROLE, ...WORDS), STREAM, EVENTS + 1, { received: 'word' }],
  ['before the head of an assembled answer', hang, PLAIN, 0],
  ['while an answer is put together', stall(ROLE, ...WORDS), PLAIN, EVENTS],
  ['while a whole answer is waited for', hang, PLAIN, 0, WHOLE],
  ['in the middle of a whole answer', halfAnswer, PLAIN, 100, WHOLE],
  ['while vectors are waited for', hang, { model: 'm', input: 'a' }, 0, VECTORS],
  ['in the middle of a streamed message', halfMessage, ASK, EVENTS + 1, NATIVE],
])(
  'a caller that leaves %s aborts the upstream call at once, no other upstream is called, and its usage is estimated',
  async (_phase, script, body, output, { path = CHAT, settings, received } = {}) => {
    const { gateway, a, b } = await startBefore({ a: script, b: answers('from b') }, settings);
    const took = await fastest(async () => {
      const pending = startCall(gateway.url + path, body);
      const call = await a.call(a.calls.length + 1);
      if (received !== undefined) await pending.received(received);
      await turns(gateway, 5);
      pending.leave();
      return millisecondsUntil(call.gone);
    });
    expect(took).toBeLessThan(AT_ONCE_MS);
    await expectForgotten(gateway);
    expect(b.calls).toHaveLength(0);
    const { tokens } = gateway.host.snapshot().requests[0] ?? {};
    expect(tokens).toMatchObject({ output, estimated: true });
    expect(tokens?.input).toBeGreaterThan(0);
  },
);

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

test('the usage that an upstream reports with a failed answer counts as reported', async () => {
  const nothing = [ROLE, chunk({}, 'stop'), usageChunk(100, 0), DONE];
  const { gateway } = await startBefore({ a: sse(...nothing) });
  expect((await startChat(gateway.url, HELLO).answer).status).toBe(502);
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 100, output: 0, cached: 0, estimated: false });
});

const leaveAt = async (gateway: TestGateway, a: Upstream, body: object, headers = {}) => {
  const before = a.calls.length;
  const pending = startChat(gateway.url, body, headers);
  const answer = pending.answer.catch(() => null);
  const called = await Promise.race([a.call(before + 1), answer]);
  if (called === null || 'status' in called) return called?.status ?? null;
  await turns(gateway, 5);
  pending.leave();
  await called.gone;
  await turns(gateway);
  return null;
};

test.each([
  ['streams', STREAM],
  ['does not stream', HELLO],
])('a caller that always leaves and %s stays within the money budget', async (_, body) => {
  const { gateway, a } = await startBefore(
    { a: stall(ROLE, ...WORDS) },
    { HOSTED_A_PRICE_OUTPUT: '1000000', HOSTED_A_BUDGET_DAY: '100' },
  );
  const ends = [];
  for (let n = 0; n < 5; n += 1) ends.push(await leaveAt(gateway, a, body));
  expect(ends).toEqual([null, null, null, 503, 503]);
});

test('a caller that always leaves stays within the token limit of its key', async () => {
  const { gateway, a } = await startBefore({ a: stall(ROLE, ...WORDS) });
  const key = bearer(await gateway.key('laptop', { tokensDay: 100 }));
  const ends = [];
  for (let n = 0; n < 4; n += 1) ends.push(await leaveAt(gateway, a, STREAM, key));
  expect(ends).toEqual([null, null, 429, 429]);
});
