import { expect, test } from 'vitest';
import { loadConfig } from '../../main/config.ts';
import { createHedgeBudget } from '../../main/gateway/hedge/budget.ts';
import { isBadRequest, parseChatRequest } from '../../main/gateway/request/chat-request.ts';
import { remoteUpstreams } from '../../main/gateway/request/upstreams.ts';
import { route, type Journey } from '../../main/gateway/router.ts';
import { createMonitor } from '../../main/gateway/watch/monitor.ts';
import type { Exchange, HttpClient } from '../../main/platform/http.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createManualClock } from '../support/clock.ts';
import { LINE_MS, PLAIN, STREAM } from '../support/hedging.ts';
import { chunk, completion, DONE, STOP } from '../support/upstream.ts';

interface Sent {
  readonly exchange: Exchange;
  isAborted: boolean;
}

/** A way out at whose end a test speaks. Sockets are read one after the other, never two in one turn. */
function createSpokenClient() {
  const sent = new Map<string, Sent>();
  const client: HttpClient = {
    close: () => Promise.resolve(),
    send({ origin }, listener) {
      const abort = () => void (call.isAborted = true);
      const call: Sent = {
        exchange: { listener, pause() {}, resume() {}, abort },
        isAborted: false,
      };
      sent.set(origin, call);
      return call.exchange;
    },
  };
  const callTo = (id: string): Sent => {
    const call = sent.get(`http://${id}.test`);
    if (call === undefined) throw new Error(`${id} was not asked`);
    return call;
  };
  const speak = (id: string, type: string, text: string) => {
    const { listener } = callTo(id).exchange;
    listener.onHead(200, { 'content-type': type });
    listener.onData(Buffer.from(text));
  };
  return { client, callTo, speak };
}

function startSpoken(body: object, settings: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfig(
    {
      SWITCHYARD_HOSTED_A_BASE_URL: 'http://a.test',
      SWITCHYARD_HOSTED_B_BASE_URL: 'http://b.test',
      ...settings,
    },
    {},
  );
  const request = parseChatRequest(Buffer.from(JSON.stringify(body)));
  if (loaded.kind === 'refused' || isBadRequest(request)) throw new Error('no request');
  const { config } = loaded;
  const clock = createManualClock();
  const { client, ...upstreams } = createSpokenClient();
  const pickLocal = () => ({ kind: 'none', reason: 'not_configured' }) as const;
  const monitor = createMonitor({
    http: client,
    clock,
    log: silentLog,
    random: () => 0.5,
    config: () => config,
    pickLocal,
    providers: () => {
      throw new Error('nobody asks for providers');
    },
    summary: () => {
      throw new Error('nobody asks for a summary');
    },
    routed() {},
    keep: () => ({ load: () => null, changed() {}, flush: () => Promise.resolve() }),
    app: () => ({ version: '', baseUrl: '', warmupEnabled: false }),
  });
  const journey: Journey = {
    call: { request, headers: {}, authorization: null, zeroSpend: false },
    config,
    remotes: remoteUpstreams(config),
    epoch: 0,
    log: monitor.logs.begin({ id: 'r', model: null, stream: false }),
    signal: new AbortController().signal,
    cause: 'turn',
    onContent() {},
  };
  const deps = {
    ...monitor,
    http: client,
    clock,
    random: () => 0.5,
    budget: createHedgeBudget(),
    pickLocal,
    inFlightAt: (id: string) => monitor.stats.inFlightAt(id),
  };
  /** Whoever sends the answer writes down that it goes out. */
  const answered = async () => {
    const end = await routed;
    if (end.kind === 'answered') end.log.answering(end.seen.contentAt);
    return end;
  };
  const routed = route(journey, deps);
  return { clock, monitor, ...upstreams, answered };
}

const EVENTS = 'text/event-stream';
const A = chunk({ content: 'a' });
const B = chunk({ content: 'b' });

test('of two first contents in one turn one is the answer, and the other is ended and counted once', async () => {
  const { clock, monitor, callTo, speak, answered } = startSpoken(STREAM);
  clock.advance(LINE_MS + 1);
  speak('b', EVENTS, B);
  speak('a', EVENTS, A);
  expect(await answered()).toMatchObject({
    kind: 'answered',
    call: { upstream: 'hosted_b' },
    trail: [{ kind: 'skipped' }, { kind: 'outrun', upstream: 'hosted_a' }],
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

test('a whole answer that comes in the turn of another’s first content is too late, and leaves no mark', async () => {
  const settings = { SWITCHYARD_HOSTED_B_ASSEMBLE: 'false' };
  const { clock, monitor, callTo, speak, answered } = startSpoken(PLAIN, settings);
  clock.advance(LINE_MS + 1);
  speak('b', 'application/json', JSON.stringify(completion('b')));
  callTo('b').exchange.listener.onEnd();
  speak('a', EVENTS, A);
  callTo('a').exchange.listener.onData(Buffer.from(STOP + DONE));
  expect(await answered()).toMatchObject({ kind: 'answered', call: { upstream: 'hosted_a' } });
  expect(monitor.logs.rows()[0]?.attempts).toMatchObject([
    { upstream: 'hosted_a', reason: null, firstContentMs: LINE_MS + 1 },
    { upstream: 'hosted_b', reason: 'outrun', firstContentMs: null },
  ]);
  expect(monitor.circuits.at('hosted_b').breaker.health).toMatchObject({ fails: 0, successes: 0 });
  expect(monitor.stats.view().inFlight).toMatchObject({ hosted_a: 1, hosted_b: 0 });
});
