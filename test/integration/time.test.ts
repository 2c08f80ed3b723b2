import { describe, expect, test } from 'vitest';
import { chat, CHAT, expectServed, HELLO, startCall, startChat } from '../support/client.ts';
import { circuitOf, counted, turns } from '../support/report.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  half,
  hang,
  ROLE,
  type Script,
  stall,
  STOP,
} from '../support/upstream.ts';
import { PLAIN, startStill, STREAM } from '../support/scene.ts';
import type { TestGateway } from '../support/gateway.ts';
import { liveBytes } from '../support/live-bytes.ts';
import { startChatOnly } from '../support/speakers.ts';
import { chatBytes, openWire } from '../support/wire.ts';

const A = chunk({ content: 'a' });

/** Two hosted upstreams with 8 s to the first content and 5 s of silence, and a clock that stands still. */
const startPair = (script: Script, settings: Record<string, string> = {}) =>
  startStill(
    { a: script, b: answers('from b') },
    { HOSTED_A_TIMEOUT_MS: '8000', IDLE_TIMEOUT_MS: '5000', HEDGE: 'off', ...settings },
  );

const NO_CONTENT: readonly [name: string, script: Script][] = [
  ['nothing', hang],
  ['headers alone', half('')],
  ['events without content', stall(ROLE, ': waiting\n\n', chunk({ content: '' }))],
  ['half an event', stall(A.slice(0, 60))],
  ['half an answer', half('{"choices":[')],
  ['half an error', half('{"error":', 503)],
];

describe.each([
  ['a stream', STREAM, {}],
  ['a plain answer', PLAIN, {}],
  ['a plain answer, asked for whole', PLAIN, { HOSTED_A_ASSEMBLE: 'false' }],
])('for a caller of %s', (_caller, body, settings) => {
  test.each(NO_CONTENT)(
    'an upstream that sends %s within the timeout is a timeout',
    async (_name, script) => {
      const { a, b, clock, gateway } = await startPair(script, settings);
      const pending = startChat(gateway.url, body);
      const call = await a.call(1);
      await turns(gateway);
      clock.advance(7999);
      await turns(gateway);
      expect(b.calls).toHaveLength(0);
      clock.advance(1);
      const answer = await pending.answer;
      expectServed(answer, 'hosted_b', 'hosted_a=timeout');
      await call.gone;
    },
  );
});

test.each([
  ['a stream', STREAM],
  ['a plain answer', PLAIN],
])(
  '%s may take any time after its first content, as long as it is never silent for the idle limit',
  async (_caller, body) => {
    const { a, b, clock, gateway } = await startPair(stall(ROLE));
    const pending = startChat(gateway.url, body);
    const { res } = await a.call(1);
    for (let token = 0; token < 10; token += 1) {
      res.write(chunk({ content: `token ${token}.` }));
      await turns(gateway);
      clock.advance(4999);
    }
    res.end(STOP + DONE);
    const answer = await pending.answer;
    expectServed(answer, 'hosted_a');
    expect(answer.text).toContain('token 9.');
    expect(b.calls).toHaveLength(0);
  },
);

test.each([
  ['a stream', STREAM, '"code":"upstream_timeout"'],
  ['an answer that is being assembled', PLAIN, 'from b'],
])('%s that sends only comments is silent', async (_what, body, end) => {
  const { a, clock, gateway } = await startPair(stall(A), { RESUME: 'off' });
  const pending = startChat(gateway.url, body);
  const { res, gone } = await a.call(1);
  await turns(gateway);
  for (let beat = 0; beat < 4; beat += 1) {
    clock.advance(1000);
    res.write(': beat\n\n');
    await turns(gateway);
  }
  clock.advance(1000);
  await gone;
  expect((await pending.answer).text).toContain(end);
});

test('a whole answer is limited by the timeout in all, however steadily it comes', async () => {
  const { a, clock, gateway } = await startPair(half(''), { HOSTED_A_ASSEMBLE: 'false' });
  const pending = startChat(gateway.url, PLAIN);
  const { res } = await a.call(1);
  const text = JSON.stringify(completion('hello'));
  for (let at = 0; at < 8; at += 1) {
    res.write(text[at]);
    await turns(gateway);
    clock.advance(1000);
  }
  expectServed(await pending.answer, 'hosted_b', 'hosted_a=timeout');
});

test.each([
  ['chat completions with several choices', CHAT, { ...HELLO, n: 2 }],
  ['embeddings', '/v1/embeddings', { model: 'm', input: 'hi' }],
])(
  '%s that take too long keep chat from a source only if no answer shows that it is well',
  async (_what, path, body) => {
    const { a, clock, gateway } = await startPair(answers('hi'), { FAIL_THRESHOLD: '1' });
    const takeTooLong = async () => {
      a.script = hang;
      const { length } = a.calls;
      const pending = startCall(gateway.url + path, body);
      await a.call(length + 1);
      clock.advance(8000);
      expect((await pending.answer).reason).toContain('hosted_a=timeout');
      a.script = answers('hi');
    };
    await chat(gateway.url);
    await takeTooLong();
    expectServed(await chat(gateway.url), 'hosted_a');
    clock.advance(120_000);
    await takeTooLong();
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: true });
  },
);

const EVENT = chunk({ content: 'x'.repeat(64 * 1024) });
/** More than the sockets' buffers on the way take, however the machine sizes them. */
const EVENTS = 1100;
const TOTAL_BYTES = EVENT.length * EVENTS;
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;

/** Streams as fast as it may, counts what it got rid of, and ends as told. */
function flood(end: Script) {
  const sent = { bytes: 0 };
  const script: Script = async (call) => {
    const { res } = call;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let event = 0; event < EVENTS; event += 1) {
      if (!res.write(EVENT)) {
        await new Promise<void>((resolve) => res.once('drain', () => resolve()));
      }
      sent.bytes += EVENT.length;
    }
    await end(call);
  };
  return { sent, script };
}

/** Resolves when `value` stays the same while the gateway takes many turns. */
async function settled(gateway: TestGateway, value: () => number): Promise<number> {
  for (;;) {
    const before = value();
    await turns(gateway, 20);
    if (before > 0 && value() === before) return before;
  }
}

/** A caller that has stopped reading, before an upstream that has written all that there is room for. */
async function startFlooded({ sent, script }: ReturnType<typeof flood>) {
  const { gateway, a, clock } = await startStill({ a: script }, { IDLE_TIMEOUT_MS: '5000' });
  const caller = await openWire(gateway.url, false);
  const before = liveBytes();
  caller.send(chatBytes({ ...HELLO, stream: true }));
  const call = await a.call(1);
  caller.pause();
  const blockedAt = await settled(gateway, () => sent.bytes);
  return { clock, gateway, caller, call, blockedAt, grownBytes: liveBytes() - before };
}

test('a caller that does not read stops the upstream, fills no memory, and starts no silence', async () => {
  const flooding = flood(({ res }) => void res.write(chunk({ content: 'the last word' })));
  const { sent } = flooding;
  const { clock, gateway, caller, call, blockedAt, grownBytes } = await startFlooded(flooding);
  expect(blockedAt).toBeLessThan(TOTAL_BYTES);
  expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);

  // The silence is the caller's own: the idle clock rests.
  for (let wait = 0; wait < 10; wait += 1) clock.advance(5000);
  await turns(gateway);
  // The system's buffers still grow meanwhile, so the count need not stay at `blockedAt`.
  expect(sent.bytes).toBeLessThan(TOTAL_BYTES);

  caller.resume();
  await caller.received('the last word');
  expect(sent.bytes).toBe(TOTAL_BYTES);
  expect(caller.bytesReceived()).toBeGreaterThan(TOTAL_BYTES);
  clock.advance(4999);
  await turns(gateway);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  clock.advance(1);
  await caller.received('upstream_timeout');
  await call.gone;
});

/** A response is under way that is translated from such a flood. */
async function startTranslated() {
  const { sent, script } = flood(({ res }) => void res.end(STOP + DONE));
  const { upstream, gateway } = await startChatOnly(script);
  const caller = await openWire(gateway.url, false);
  const before = liveBytes();
  caller.send(chatBytes({ input: 'hi', stream: true }).replace(CHAT, '/v1/responses'));
  const { gone } = await upstream.call(1);
  return { sent, gateway, caller, before, gone };
}

test('a caller that does not read a translated answer stops the upstream too, and aborts it when it leaves', async () => {
  const { sent, gateway, caller, before, gone } = await startTranslated();
  caller.pause();
  expect(await settled(gateway, () => sent.bytes)).toBeLessThan(TOTAL_BYTES);
  expect(liveBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
  caller.leave();
  await gone;
});

test('a translated answer without end is broken off before it fills the memory', async () => {
  const { gateway, gone } = await startTranslated();
  await gone;
  await turns(gateway);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
});
