import type { UpstreamId } from '#shared/ids.ts';
import { describe, expect, test } from 'vitest';
import { chat, HELLO, startChat } from '../support/client.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { inFlight } from '../support/report.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  answers,
  chunk,
  cut,
  error,
  hang,
  json,
  ROLE,
  sse,
  stall,
  startUpstream,
  type Script,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const A = chunk({ content: 'a' });
const STREAM = { ...HELLO, stream: true };

function circuitOf(gateway: TestGateway, id: UpstreamId) {
  const { circuits, stats } = gateway.host.snapshot().status;
  return { ...circuits[id], requests: stats.perUpstream[id]?.requests };
}

const F = { fails: 1, successes: 0, consecutiveFails: 1, requests: 1 };
const NEUTRAL = { fails: 0, successes: 0, consecutiveFails: 0, requests: 1 };
const S = { fails: 0, successes: 1, consecutiveFails: 0, requests: 1 };
const EVERYWHERE = ['local', 'hosted_a', 'ondemand'] as const;
const NOT_ONDEMAND = ['local', 'hosted_a'] as const;
const REMOTE = ['hosted_a', 'ondemand'] as const;

type Mark = Readonly<Record<'fails' | 'successes' | 'consecutiveFails' | 'requests', number>>;

/** The circuit column of the outcome table. */
const MARKS: readonly (readonly [says: string, Script, mark: Mark, of: readonly UpstreamId[]])[] = [
  ['an answer', answers('hi'), S, EVERYWHERE],
  ['an answer without [DONE]', sse(ROLE, A, chunk({}, 'stop')), S, EVERYWHERE],
  [
    'a JSON answer to a stream',
    json(200, { choices: [{ message: { content: 'x' } }] }),
    S,
    EVERYWHERE,
  ],
  ['503', error(503), F, NOT_ONDEMAND],
  ['504', error(504), F, NOT_ONDEMAND],
  ['520', error(520), F, EVERYWHERE],
  ['529', error(529), F, EVERYWHERE],
  ['a 503 that says busy', error(503, 'server busy'), NEUTRAL, ['local']],
  ['a 429 that says its queue is full', error(429, 'queue full'), NEUTRAL, ['local']],
  ['429', error(429), NEUTRAL, EVERYWHERE],
  ['402', error(402), NEUTRAL, EVERYWHERE],
  ['insufficient_quota', error(429, 'no', 'insufficient_quota'), NEUTRAL, EVERYWHERE],
  ['401', error(401), NEUTRAL, EVERYWHERE],
  ['403', error(403), NEUTRAL, EVERYWHERE],
  ['a 404 about the model', error(404, 'no such model'), NEUTRAL, EVERYWHERE],
  ['404', error(404), F, EVERYWHERE],
  ['405', error(405), F, EVERYWHERE],
  ['302', json(302, '', { location: '/' }), F, EVERYWHERE],
  ['a 400 for the context length', error(400, 'maximum context length'), NEUTRAL, EVERYWHERE],
  ['400', error(400), NEUTRAL, EVERYWHERE],
  ['422', error(422), NEUTRAL, EVERYWHERE],
  ['408', error(408), F, EVERYWHERE],
  ['409', error(409), NEUTRAL, EVERYWHERE],
  ['425', error(425), NEUTRAL, EVERYWHERE],
  ['a cut before content', cut(ROLE), F, EVERYWHERE],
  ['a cut after content', cut(ROLE, A), F, EVERYWHERE],
  ['an end without a finish reason', sse(ROLE, A), F, EVERYWHERE],
  ['an error event first', sse('data: {"error":{"message":"no"}}\n\n'), F, EVERYWHERE],
  ['an error event after content', sse(A, 'data: {"error":{"message":"no"}}\n\n'), F, EVERYWHERE],
  ['an empty body', json(200, ''), F, EVERYWHERE],
  [
    'a page',
    ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    F,
    EVERYWHERE,
  ],
  [
    'a 429 with a short Retry-After, then an answer',
    once(error(429, 'no', null, { 'retry-after-ms': '1' })),
    { ...S, requests: 2 },
    REMOTE,
  ],
  [
    'a lone 500',
    once(error(500)),
    { fails: 1, successes: 1, consecutiveFails: 0, requests: 2 },
    EVERYWHERE,
  ],
  [
    'a 500 twice',
    error(500),
    { fails: 2, successes: 0, consecutiveFails: 2, requests: 2 },
    EVERYWHERE,
  ],
  [
    'a 502 twice',
    error(502),
    { fails: 2, successes: 0, consecutiveFails: 2, requests: 2 },
    NOT_ONDEMAND,
  ],
];

/** A script for the first call of each upstream; later ones are answered. */
function once(script: Script): Script {
  const seen = new WeakSet();
  return (call) => {
    const { server } = call.socket as unknown as { readonly server: object };
    if (seen.has(server)) return answers('hi')(call);
    seen.add(server);
    return script(call);
  };
}

describe.each(EVERYWHERE)('in the circuit of %s', (id) => {
  test.each(MARKS.filter(([, , , of]) => of.includes(id)))(
    'a call answered with %s has the mark of the table in its circuit',
    async (_, script, mark) => {
      const upstream = await startUpstream(script);
      const gateway = await startGateway({
        ...at({ [id]: upstream.url }),
        ONDEMAND_WARMUP: 'false',
      });
      await chat(gateway.url, STREAM);
      expect(circuitOf(gateway, id)).toMatchObject(mark);
    },
  );

  test.each([
    ['before content', hang],
    ['after content', stall(ROLE, A)],
  ])('a caller that leaves %s does not count in the circuit', async (_, script) => {
    const upstream = await startUpstream(script);
    const gateway = await startGateway(at({ [id]: upstream.url }));
    const pending = startChat(gateway.url, STREAM);
    const { gone } = await upstream.call(1);
    if (script !== hang) await pending.received('"a"');
    pending.leave();
    await gone;
    await expect.poll(() => inFlight(gateway)).toBe(0);
    expect(circuitOf(gateway, id)).toMatchObject(NEUTRAL);
  });

  test('a silence after content counts as a failure in the circuit', async () => {
    const clock = createManualClock();
    const upstream = await startUpstream(stall(ROLE, A));
    const gateway = await startGateway(at({ [id]: upstream.url }), clock);
    const pending = startChat(gateway.url, STREAM);
    await pending.received('"a"');
    clock.advance(30_000);
    await pending.answer;
    expect(circuitOf(gateway, id)).toMatchObject(F);
  });
});

/** First content after `ms`, which pass as the upstream is asked. */
const after =
  (ms: number, clock: ManualClock, script: Script): Script =>
  (call) => {
    clock.advance(ms);
    return script(call);
  };

describe('first content after the threshold', () => {
  const slowAnswers = (clock: ManualClock, ms: number) => after(ms, clock, answers('hi'));

  test.each([true, false])(
    'a first content after the threshold counts as a success and as slow (stream: %s)',
    async (stream) => {
      const clock = createManualClock();
      const upstream = await startUpstream(slowAnswers(clock, 5001), slowAnswers(clock, 5000));
      const gateway = await startGateway(at({ hosted_a: upstream.url }), clock);
      await chat(gateway.url, { ...HELLO, stream });
      expect(circuitOf(gateway, 'hosted_a')).toMatchObject({
        ...S,
        consecutiveSlow: 1,
        lastTtftMs: 5001,
      });
      await chat(gateway.url, { ...HELLO, stream });
      expect(circuitOf(gateway, 'hosted_a')).toMatchObject({
        consecutiveSlow: 0,
        lastTtftMs: 5000,
      });
    },
  );

  test('a late first content three times in a row opens the circuit, though each answer was whole', async () => {
    const clock = createManualClock();
    const upstream = await startUpstream();
    upstream.script = slowAnswers(clock, 6000);
    const b = await startUpstream(answers('from b'));
    const gateway = await startGateway(at({ hosted_a: upstream.url, hosted_b: b.url }), clock);
    for (let n = 0; n < 3; n += 1) {
      expect(await chat(gateway.url, STREAM)).toMatchObject({
        upstream: 'hosted_a',
        reason: 'none',
      });
    }
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: true, successes: 3, fails: 0 });
    expect((await chat(gateway.url, STREAM)).reason).toBe('hosted_a=circuit_open');
    clock.advance(60_000);
    upstream.script = answers('fast again');
    expect((await chat(gateway.url, STREAM)).upstream).toBe('hosted_a');
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ open: false, consecutiveSlow: 0 });
  });

  test('a late first content is measured from the second try, not from the first', async () => {
    const clock = createManualClock();
    const upstream = await startUpstream(
      after(4950, clock, error(500)),
      after(100, clock, answers('hi')),
    );
    const gateway = await startGateway(at({ hosted_a: upstream.url }), clock);
    const answer = chat(gateway.url, STREAM);
    clock.advance(await clock.timer(50, 200));
    await answer;
    expect(circuitOf(gateway, 'hosted_a')).toMatchObject({ consecutiveSlow: 0, lastTtftMs: 100 });
  });
});

test('the second try is not made where the first failure opened the circuit', async () => {
  const a = await startUpstream(error(500), answers('never'));
  const b = await startUpstream(answers('from b'));
  const gateway = await startGateway({
    ...at({ hosted_a: a.url, hosted_b: b.url }),
    FAIL_THRESHOLD: '1',
  });
  expect(await chat(gateway.url)).toMatchObject({
    upstream: 'hosted_b',
    reason: 'hosted_a=http_500',
  });
  expect(a.calls).toHaveLength(1);
});

test('an ondemand whose cold start outlasts its timeout counts one failure, however often it was polled', async () => {
  const clock = createManualClock();
  const machine = await startUpstream(error(503));
  const gateway = await startGateway(
    { ...at({ ondemand: machine.url }), ONDEMAND_TIMEOUT_MS: '2000' },
    clock,
  );
  const answer = chat(gateway.url);
  clock.advance(await clock.timer(1250, 1250));
  expect((await answer).reason).toBe('ondemand=timeout');
  expect(machine.calls).toHaveLength(2);
  expect(circuitOf(gateway, 'ondemand')).toMatchObject({ ...F, requests: 1 });
  expect(gateway.host.snapshot().status.upstreams.at(-1)?.skips).toEqual([]);
});
