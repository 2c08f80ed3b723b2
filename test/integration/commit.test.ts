import { expect, test } from 'vitest';
import { endedInError } from '../support/protocols.ts';
import { chatStream, expectServed, startChat } from '../support/client.ts';
import { counted, inFlight } from '../support/report.ts';
import {
  answerChunks,
  chunk,
  cut,
  DONE,
  ROLE,
  sse,
  stall,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { startStill, STREAM } from '../support/scene.ts';

const A = chunk({ content: 'a' });
const B = chunk({ content: 'b' });

/** A gateway with two hosted upstreams: `first` as scripted, and one that answers. */
const startPair = (first: Script) =>
  startStill({ a: first, b: sse(...answerChunks('from b')) }, { IDLE_TIMEOUT_MS: '5000' });

/** Holds that one error event ends a stream behind `before`, and that no other upstream is called. */
async function expectBroken(first: Script, before: string, code: string): Promise<void> {
  const { a, b, gateway } = await startPair(first);
  const answer = await chatStream(gateway.url);
  expect(endedInError(answer.text)).toEqual({ before, code });
  expectServed(answer, 'hosted_a');
  expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
  expect(inFlight(gateway)).toBe(0);
}

test.each<[name: string, first: Script, before: string]>([
  ['a cut', cut(ROLE, A), ROLE + A],
  ['a cut inside an event', cut(A + B.slice(0, 40)), A],
  ['a clean end inside an event', sse(A, B.slice(0, 40)), A],
  ['a clean end without finish reason', sse(ROLE, A, B), ROLE + A + B],
  ['[DONE] without any finish reason', sse(ROLE, A, DONE), ROLE + A],
])(
  '%s after the commit ends the stream with one error event, and no other upstream is called',
  (_name, first, before) => expectBroken(first, before, 'upstream_bad_response'),
);

const WITH_CHOICES =
  'data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502}}\n\n';

test.each<[name: string, ...events: string[]]>([
  ['an error', 'data: {"error":{"message":"no"}}\n\n'],
  ['an error with events behind it', 'data: {"error":"no"}\n\n', B, STOP, DONE],
  ['an event named error', 'event: error\ndata: {"message":"no"}\n\n', B],
  ['an error without the key', 'data: {"object":"error","message":"no"}\n\n'],
  ['an event named error that is no JSON', 'event:error\ndata: oh\n\n'],
  ['an error in a field of its own', 'error: {"code":400,"message":"no"}\n\n', DONE],
  ['an error next to choices', WITH_CHOICES, DONE],
])('%s among the events ends the stream as the upstream’s own error', async (_name, ...events) => {
  await expectBroken(sse(A, ...events), A, 'upstream_error');
  await expectBroken(sse([A, ...events].join('')), A, 'upstream_error');
});

const FINISHED = chunk({ content: 'a' }, 'stop');
const SPACED = 'data: {"choices":[{"delta":{},"finish_reason" : null}]}\n\n';
const SPACED_STOP = SPACED.replace('null', '"stop"');
const NINTH = `id: 9\n${STOP}`;
const NO_ERROR = A.replace('{', '{"error":null,');
const USAGE = 'data: {"choices":[],"usage":{"total_tokens":3}}\n\n';

test.each<[name: string, first: Script, text: string]>([
  ['a clean end after the finish reason', sse(ROLE, A, STOP), ROLE + A + STOP + DONE],
  ['a cut after the finish reason', cut(ROLE, A, STOP), ROLE + A + STOP + DONE],
  ['a finish reason of length', sse(A, chunk({}, 'length')), A + chunk({}, 'length') + DONE],
  ['usage that the caller did not ask for', sse(A, STOP, USAGE), A + STOP + DONE],
  ['a finish reason on the content', sse(FINISHED), FINISHED + DONE],
  ['blanks about the colons', sse(A, SPACED, SPACED_STOP), A + SPACED + SPACED_STOP + DONE],
  ['what follows [DONE]', sse(A, STOP, DONE, 'data: {"error":"no"}\n\n'), A + STOP + DONE],
  ['an error of null', sse(NO_ERROR, STOP), NO_ERROR + STOP + DONE],
  ['a last event without its blank line', sse(A, STOP.trimEnd()), A + STOP + DONE],
  ['the only event without its blank line', sse(FINISHED.trimEnd()), FINISHED + DONE],
  ['[DONE] without its blank line', sse(A, STOP, DONE.trimEnd()), A + STOP + DONE],
  ['a last event with an id and no blank line', sse(A, NINTH.trimEnd()), A + NINTH + DONE],
])('%s completes the stream with [DONE]', async (_name, first, text) => {
  const { b, gateway } = await startPair(first);
  const answer = await chatStream(gateway.url);
  expect(answer.text).toBe(text);
  expect(b.calls).toHaveLength(0);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
});

// github.com/maximhq/bifrost/issues/6784; github.com/musistudio/claude-code-router/pull/1271
test('a silence of ten seconds after the finish reason completes the stream', async () => {
  const { clock, gateway } = await startStill({ a: stall(A, STOP) });
  const pending = startChat(gateway.url, STREAM);
  await pending.received('"stop"');
  clock.advance(10_000);
  expect((await pending.answer).text).toBe(A + STOP + DONE);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
});

test('a stream with two choices is complete once each of them has its finish reason', async () => {
  const { a, gateway } = await startPair(sse(A, STOP, STOP));
  const answer = await chatStream(gateway.url, { n: 2 });
  expect(endedInError(answer.text).before).toBe(A + STOP);
  const both = A + STOP + STOP.replace('"index":0', '"index":1');
  a.script = sse(both);
  expect((await chatStream(gateway.url, { n: 2 })).text).toBe(both + DONE);
});

test('[DONE] ends the answer at once, though the upstream keeps its connection open', async () => {
  const { a, clock, gateway } = await startPair(stall(A, STOP, DONE));
  const answer = await chatStream(gateway.url);
  expect(answer.text).toBe(A + STOP + DONE);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
  expect(inFlight(gateway)).toBe(0);
  // What the upstream never ends is closed soon after.
  clock.advance(1000);
  await a.gone(1);
});

test('each event and comment reaches the caller before the upstream sends the next', async () => {
  const { a, gateway } = await startPair(stall());
  const pending = startChat(gateway.url, STREAM);
  const { res } = await a.call(1);
  const token = (n: number) => `token ${n}.`;
  for (let n = 0; n < 20; n += 1) {
    res.write(chunk({ content: token(n) }));
    await pending.received(token(n));
  }
  res.write(': still here\n\n');
  await pending.received(': still here');
  res.end(STOP + DONE);
  const last = chunk({ content: token(19) });
  expect((await pending.answer).text).toContain(`${last}: still here\n\n${STOP}${DONE}`);
});
