import { describe, expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { pollUntil } from '../support/polling.ts';
import {
  answers,
  error,
  hang,
  REFUSED_URL,
  startUpstream,
  type Upstream,
  type UpstreamGet,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';

const status =
  (code: number) =>
  ({ res }: UpstreamGet): void =>
    void res.writeHead(code).end();

function warmupOf(gateway: TestGateway) {
  return gateway.host.snapshot().status.ondemand_warmup_detail;
}

/** Moves the clock on and gives the time that the last warm-up should bear if it began then. */
function later(clock: ManualClock, ms: number): string {
  clock.advance(ms);
  return new Date(clock.now()).toISOString();
}

/** Resolves when the warm-up's state is `state`. */
async function warmupIs(state: string, gateway: TestGateway, clock: ManualClock): Promise<void> {
  while (warmupOf(gateway).state !== state) {
    // One turn of the gateway's event loop.
    await (await fetch(`${gateway.url}/healthz`)).text();
    clock.advance(0);
  }
}

/** A machine that neither warms up nor answers: each start ends at once, as failed. */
async function startClosedMachine(): Promise<Upstream> {
  const machine = await startUpstream(error(401));
  machine.answerGet = status(401);
  return machine;
}

describe('the warm-up of ondemand', () => {
  test('the warm-up of ondemand starts as soon as local fails, while hosted upstreams are still called', async () => {
    const clock = createManualClock();
    const hosted = await startUpstream(hang);
    const machine = await startUpstream(answers('never asked'));
    machine.answerGet = status(200);
    const gateway = await startGateway(
      {
        ...at({ local: REFUSED_URL, hosted_a: hosted.url, ondemand: machine.url }),
        ONDEMAND_API_KEY: 'ondemand-key',
        ONDEMAND_HEADERS: '{"x-region":"eu"}',
      },
      clock,
    );
    const answer = chat(gateway.url, HELLO, {
      authorization: 'Bearer of-the-caller',
      cookie: 'a=b',
    });
    const { path, headers } = await machine.get(1);
    expect(path).toBe('/health');
    expect(headers).toMatchObject({ authorization: 'Bearer ondemand-key', 'x-region': 'eu' });
    expect(headers).not.toHaveProperty('cookie');
    await warmupIs('ready', gateway, clock);
    expect(warmupOf(gateway)).toMatchObject({ lastWarmupAt: '2026-01-01T00:00:00.000Z' });
    // The request itself is still with the hosted upstream; the warm-up has nothing to do with it.
    await answers('from a')(await hosted.call(1));
    expect(await answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
    expect(machine.calls).toHaveLength(0);
  });

  test('the warm-up of ondemand does not start while local answers', async () => {
    const local = await startUpstream(answers('here'));
    const machine = await startClosedMachine();
    const gateway = await startGateway(at({ local: local.url, ondemand: machine.url }));
    await chat(gateway.url);
    expect(warmupOf(gateway)).toMatchObject({ state: 'idle', lastWarmupAt: null });
  });

  test.each([
    ['it is switched off', { ONDEMAND_WARMUP: 'false' }, {}],
    ['no money may be spent', { FORCE_ZERO: 'true' }, {}],
    ['the request forbids spending', {}, { 'x-gateway-force-zero': '1' }],
    ['local is not configured', { LOCAL_ENGINE_URL: '' }, {}],
    ['ondemand is not configured', { ONDEMAND_BASE_URL: '' }, {}],
  ])('the warm-up of ondemand does not start when %s', async (_says, settings, headers) => {
    const machine = await startClosedMachine();
    const gateway = await startGateway({
      ...at({ local: REFUSED_URL, hosted_a: REFUSED_URL, ondemand: machine.url }),
      ...settings,
    });
    const answer = await chat(gateway.url, HELLO, headers);
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(warmupOf(gateway)).toMatchObject({ state: 'idle', lastWarmupAt: null });
    expect(machine.gets).toHaveLength(0);
  });

  test('the warm-up of ondemand polls a machine that is starting 1 s to 5 s apart until it is ready', async () => {
    const clock = createManualClock();
    const machine = await startUpstream(hang);
    machine.answerGet = (get) => status(machine.gets.length < 4 ? 503 : 200)(get);
    const gateway = await startGateway(at({ local: REFUSED_URL, ondemand: machine.url }), clock);
    const answer = chat(gateway.url);
    await pollUntil(machine.get(4), clock);
    await warmupIs('ready', gateway, clock);
    const { durationMs, lastResult } = warmupOf(gateway);
    expect(lastResult).toBe('HTTP 200');
    expect(durationMs).toBeGreaterThanOrEqual(3000);
    expect(durationMs).toBeLessThanOrEqual(15_000);
    expect(machine.gets).toHaveLength(4);
    clock.advance(120_000);
    await answer;
  });
});

describe('how often warm-ups start', () => {
  test('requests that lose local start one warm-up in 60 s', async () => {
    const clock = createManualClock();
    const machine = await startClosedMachine();
    const gateway = await startGateway(at({ local: REFUSED_URL, ondemand: machine.url }), clock);
    const lose = async () => {
      await chat(gateway.url);
      await warmupIs('failed', gateway, clock);
    };
    const first = later(clock, 0);
    await lose();
    expect(warmupOf(gateway).lastWarmupAt).toBe(first);
    later(clock, 59_999);
    await lose();
    expect(warmupOf(gateway).lastWarmupAt).toBe(first);
    const second = later(clock, 1);
    await lose();
    expect(warmupOf(gateway).lastWarmupAt).toBe(second);
    expect(machine.gets).toHaveLength(2);
  });

  test('requests that lose local start one warm-up in 10 min while a hosted upstream answers', async () => {
    const clock = createManualClock();
    const hosted = await startUpstream(answers('from a'));
    const machine = await startClosedMachine();
    const gateway = await startGateway(
      at({ local: REFUSED_URL, hosted_a: hosted.url, ondemand: machine.url }),
      clock,
    );
    const first = later(clock, 0);
    await chat(gateway.url);
    await warmupIs('failed', gateway, clock);
    later(clock, 599_999);
    await chat(gateway.url);
    expect(warmupOf(gateway).lastWarmupAt).toBe(first);
    const second = later(clock, 1);
    await chat(gateway.url);
    expect(warmupOf(gateway).lastWarmupAt).toBe(second);
    await machine.get(2);
    expect(machine.gets).toHaveLength(2);
  });

  test('requests that lose local start no warm-up while ondemand is ready, and one again once idle for 5 min', async () => {
    const clock = createManualClock();
    const machine = await startUpstream(answers('awake'));
    machine.answerGet = status(200);
    const gateway = await startGateway(at({ local: REFUSED_URL, ondemand: machine.url }), clock);
    const first = later(clock, 0);
    await chat(gateway.url);
    await warmupIs('ready', gateway, clock);
    later(clock, 299_999);
    await chat(gateway.url);
    expect(warmupOf(gateway)).toMatchObject({ state: 'ready', lastWarmupAt: first });
    const second = later(clock, 300_000);
    expect(warmupOf(gateway).state).toBe('idle');
    await chat(gateway.url);
    expect(warmupOf(gateway).lastWarmupAt).toBe(second);
  });
});
