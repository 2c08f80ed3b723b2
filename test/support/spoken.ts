import { loadConfig } from '../../main/config/load.ts';
import { createEndpointSupport } from '../../main/gateway/routing/endpoint-support.ts';
import { createAdjustments } from '../../main/gateway/upstream/adjustments.ts';
import { createPrefills } from '../../main/gateway/chat/resume/prefills.ts';
import { createMonitor } from '../../main/gateway/monitoring/monitor.ts';
import type { RoutedRequest } from '../../main/gateway/routing/candidates.ts';
import { createEngineActivity, createWedgeWatch } from '../../main/gateway/routing/hung-engines.ts';
import { createHedgeBudget } from '../../main/gateway/routing/hedging.ts';
import { createItemMemory } from '../../main/gateway/protocols/responses/item-memory.ts';
import { route, type RouteResult } from '../../main/gateway/routing/route.ts';
import { createWindows } from '../../main/gateway/routing/windows.ts';
import { isBadRequest, parseChatRequest } from '../../main/gateway/protocols/chat-request.ts';
import { remoteUpstreams } from '../../main/gateway/upstream/upstreams.ts';
import type { Exchange, HttpClient } from '../../main/platform/http/types.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createManualClock } from './clock.ts';
import { chatCall } from './chat-call.ts';
import { KEEPING_NOTHING } from './monitor-deps.ts';

interface Sent {
  readonly exchange: Exchange;
  isAborted: boolean;
}

/** A way out at whose end a test speaks: of sockets no two are read in one turn, and what they read is theirs. */
function createSpokenClient() {
  const sent = new Map<string, Sent>();
  const client: HttpClient = {
    dropIdle() {},
    close: () => Promise.resolve(),
    send({ origin }, listener) {
      const abort = () => void (call.isAborted = true);
      const call: Sent = {
        exchange: { listener, pause() {}, resume() {}, abort, hasLeft: () => true },
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
  const speak = (id: string, type: string, bytes: Buffer) => {
    const { listener } = callTo(id).exchange;
    listener.onHead(200, { 'content-type': type });
    listener.onData(bytes);
  };
  return { client, callTo, speak };
}

/** A request on its way to `hosted_a` and `hosted_b`, for which the test speaks. */
export function startSpoken(body: object, settings: Readonly<Record<string, string>> = {}) {
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
    ...KEEPING_NOTHING,
  });
  const observer = monitor.logs.begin({
    id: 'r',
    upstreamPath: request.endpoint.upstreamPath,
    model: null,
    stream: false,
    caller: null,
    key: null,
  });
  const context: RoutedRequest = {
    call: chatCall(request),
    config,
    remotes: remoteUpstreams(config),
    preferred: null,
    epoch: 0,
    observer,
    signal: new AbortController().signal,
    reserveCopy: () => true,
  };
  const deps = {
    ...monitor,
    http: client,
    clock,
    random: () => 0.5,
    budget: createHedgeBudget(),
    engines: createEngineActivity(clock),
    wedges: createWedgeWatch({ clock, isOn: () => false, check: () => null }),
    prefills: createPrefills(client, clock),
    support: createEndpointSupport(clock),
    windows: createWindows(clock),
    adjustments: createAdjustments(clock),
    noteDropped() {},
    items: createItemMemory(1024 * 1024),
    pickLocal,
    identifyLocal: () => null,
    localUsed: () => {},
    inFlightAt: (id: string) => monitor.stats.inFlightAt(id),
    isRunning: monitor.stats.isRunning,
  };
  return { clock, monitor, ...upstreams, context, deps, routed: route(context, deps) };
}

/** The sender of the answer records that it goes out. */
export async function answered(routed: Promise<RouteResult>): Promise<RouteResult> {
  const end = await routed;
  if (end.kind === 'answered') end.answer.attempt.answering(end.answer.seen.contentAt);
  return end;
}
