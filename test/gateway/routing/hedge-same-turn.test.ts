import { expect, test } from 'vitest';
import { LINE_MS, PLAIN, STREAM } from '../../support/scene.ts';
import { answered, startSpoken } from '../../support/spoken.ts';
import { chunk, completion, DONE, STOP } from '../../support/upstream.ts';

const EVENTS = 'text/event-stream';
const A = Buffer.from(chunk({ content: 'a' }));
const B = Buffer.from(chunk({ content: 'b' }));

test('one of two first contents in one turn of the event loop is the answer, and the other call counts once', async () => {
  const { clock, monitor, callTo, speak, routed } = startSpoken(STREAM);
  clock.advance(LINE_MS + 1);
  speak('b', EVENTS, B);
  speak('a', EVENTS, A);
  expect(await answered(routed)).toMatchObject({
    kind: 'answered',
    answer: { call: { upstream: 'hosted_b' } },
    outcomes: [{ kind: 'skipped' }, { kind: 'hedge_lost', upstream: 'hosted_a' }],
  });
  expect([callTo('a').isAborted, callTo('b').isAborted]).toEqual([true, false]);
  const { health } = monitor.circuits.at('hosted_a').breaker;
  expect(health).toMatchObject({ consecutiveSlow: 1, fails: 0, successes: 0 });
  expect(health.ttft).toMatchObject({ value: LINE_MS + 1, weight: 1 });
  expect(monitor.logs.rows()[0]?.attempts).toMatchObject([
    { upstream: 'hosted_a', reason: 'outrun' },
    { upstream: 'hosted_b', reason: null, firstContentMs: LINE_MS + 1, endMs: null },
  ]);
  expect(monitor.stats.view().inFlight).toMatchObject({ hosted_a: 0, hosted_b: 1 });
});

test('a whole answer in the turn of another call’s first content is too late and leaves no mark', async () => {
  const settings = { SWITCHYARD_HOSTED_B_ASSEMBLE: 'false' };
  const { clock, monitor, callTo, speak, routed } = startSpoken(PLAIN, settings);
  clock.advance(LINE_MS + 1);
  speak('b', 'application/json', Buffer.from(JSON.stringify(completion('b'))));
  callTo('b').exchange.listener.onEnd();
  speak('a', EVENTS, A);
  callTo('a').exchange.listener.onData(Buffer.from(STOP + DONE));
  expect(await answered(routed)).toMatchObject({
    kind: 'answered',
    answer: { call: { upstream: 'hosted_a' } },
  });
  expect(monitor.logs.rows()[0]?.attempts).toMatchObject([
    { upstream: 'hosted_a', reason: null, firstContentMs: LINE_MS + 1 },
    { upstream: 'hosted_b', reason: 'outrun', firstContentMs: null },
  ]);
  expect(monitor.circuits.at('hosted_b').breaker.health).toMatchObject({ fails: 0, successes: 0 });
  expect(monitor.stats.view().inFlight).toMatchObject({ hosted_a: 1, hosted_b: 0 });
});
