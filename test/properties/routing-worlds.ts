import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import { loadConfig } from '../../main/config/load.ts';
import type { Config } from '../../main/config/schema.ts';
import { handleChat } from '../../main/gateway/chat/handler.ts';
import { createItemMemory } from '../../main/gateway/protocols/responses/history.ts';
import { createEndpointSupport } from '../../main/gateway/routing/endpoint-support.ts';
import { createAdjustments } from '../../main/gateway/upstream/adjustments.ts';
import { createPrefills } from '../../main/gateway/chat/resume/prefills.ts';
import { createMonitor } from '../../main/gateway/monitoring/monitor.ts';
import { createEngineActivity, createWedgeWatch } from '../../main/gateway/routing/hung-engines.ts';
import { createHedgeBudget } from '../../main/gateway/routing/hedging.ts';
import { createWindows } from '../../main/gateway/routing/windows.ts';
import { CHAT_COMPLETIONS } from '../../main/gateway/protocols/chat/endpoint.ts';
import { parseBaseAddress, remoteUpstreams } from '../../main/gateway/upstream/upstreams.ts';
import { createAdmission } from '../../main/gateway/chat/admission.ts';
import { createBodyBudget } from '../../main/platform/body-budget.ts';
import type { HttpClient } from '../../main/platform/http/types.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import type { Outcome, Standing } from './routing-model.ts';
import {
  type Action,
  type Ask,
  type Behaviour,
  FIRST_LIMITS,
  SHORT_MS,
  SLOW_MS,
  TIMEOUT_MS,
  TTFT_THRESHOLD_MS,
  within,
} from './routing-table.ts';
import { chunk, DONE, STOP } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { KEEPING_NOTHING } from '../support/monitor-deps.ts';
import { hashIsReady } from '../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

/** Settings of both worlds, as the environment names them; thresholds are changed while they run. */
export const SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    UPSTREAM_IDS.map((id) => [`${id.toUpperCase()}_TIMEOUT_MS`, String(TIMEOUT_MS[id])]),
  ),
  TTFT_THRESHOLD_MS: String(TTFT_THRESHOLD_MS),
  ONDEMAND_WARMUP: 'false',
  // The model has one upstream asked after the other: npm run chaos has the rest.
  HEDGE: 'off',
  // test/integration/health-checks.test.ts has them.
  HEALTH_CHECKS: 'false',
  RESUME: 'off',
};

/** A clock that stands still but for the pauses before a call, which pass by themselves. */
export interface HastyClock extends ManualClock {
  /** When the last call to be sent has to have content, in ticks. */
  deadline(): number;
}

export function createHastyClock(): HastyClock {
  const clock = createManualClock();
  let deadline = 0;
  return {
    ...clock,
    deadline: () => deadline,
    after(ms, fn) {
      const cancel = clock.after(ms, fn);
      // Told apart by who sets them: `sleep` the pauses, an attempt its deadline.
      if (fn.name === 'wake') queueMicrotask(() => clock.advance(ms));
      if (fn.name === '#onTime') deadline = clock.ticks() + ms;
      return cancel;
    },
  };
}

/** Where it is decided what the next call meets, in both worlds. */
export class Stage {
  readonly #clock: HastyClock;
  #ask: Ask | null = null;
  #asked: UpstreamId[] = [];

  constructor(clock: HastyClock) {
    this.#clock = clock;
  }

  begin(ask: Ask): void {
    this.#ask = ask;
    this.#asked = [];
  }

  asked(): readonly UpstreamId[] {
    return this.#asked;
  }

  /** The next call to an upstream; time passes as its behaviour has it. */
  next(id: UpstreamId): Behaviour {
    if (this.#ask === null) throw new Error('a call on nobody’s behalf');
    const isSecond = this.#asked.includes(id);
    this.#asked.push(id);
    const leftMs = this.#clock.deadline() - this.#clock.ticks();
    const met = within(leftMs, isSecond ? this.#ask.again : this.#ask.meets[id]);
    if (met === 'slow') this.#clock.advance(SLOW_MS);
    if (met === 'timeout') this.#clock.advance(leftMs);
    return met;
  }
}

/** What an upstream writes: an error with headers, or the events of an answer. */
export const ERRORS: Readonly<
  Partial<Record<Behaviour, readonly [status: number, message: string, headers?: object]>>
> = {
  '500': [500, 'no'],
  '503': [503, 'no'],
  '503 busy': [503, 'server busy, please try again'],
  '429': [429, 'slow down'],
  '429 short': [429, 'slow down', { 'retry-after-ms': String(SHORT_MS) }],
  '429 long': [429, 'slow down', { 'retry-after': '31' }],
  '402': [402, 'pay first'],
  '401': [401, 'bad key'],
  '404 model': [404, 'no such model'],
  '400 context': [400, 'maximum context length is 4096 tokens'],
  '500 picture': [500, 'image input is not supported'],
  '400': [400, 'bad temperature'],
};
export const CONTENT = chunk({ content: 'hello' });
export const REST = STOP + DONE;

/** The gateway as a test drives it. */
export interface World {
  act(action: Action): Promise<Outcome | null>;
  ticks(): number;
  status(): Promise<StatusReport>;
}

/** What the report says of an upstream, in the model's words. */
export function standingOf(report: StatusReport, id: UpstreamId): Standing {
  const upstream = report.upstreams.find((each) => each.id === id);
  const counts = report.stats.perUpstream[id];
  if (upstream === undefined || counts === undefined) throw new Error(id);
  const { open, cooldownRemainingMs } = upstream.circuit;
  const nowMs = Date.parse(report.timestamp);
  const skips = upstream.skips.map(({ reason, until, model }) => {
    const key = model === undefined ? reason : `${reason} ${model}`;
    return `${key} ${Date.parse(until) - nowMs}`;
  });
  return { ...counts, open, cooldownRemainingMs, skips: skips.toSorted() };
}

/** An answer that goes nowhere. */
class LostResponse extends ServerResponse {
  sent: OutgoingHttpHeaders = {};

  override writeHead(status: number, headers: unknown): this {
    this.sent = headers as OutgoingHttpHeaders;
    return super.writeHead(status, this.sent);
  }
}

const NO_PROVIDERS = {
  counts: { count: 0, verified: 0, pending: 0, verifying: 0, failed: 0 },
  excerpt: () => null,
  ids: () => [],
  pool: null,
};

/** A world into which one can look. */
export interface MemoryWorld extends World {
  rows(): readonly RequestRow[];
  /** How many timers wait. */
  timers(): number;
}

/** The gateway from its chat endpoint to its way out, without a socket. */
export function createMemoryWorld(configured: ReadonlySet<UpstreamId>): MemoryWorld {
  const clock = createHastyClock();
  const stage = new Stage(clock);
  const http = createScriptedClient(stage);
  let config = loaded(configured);
  const monitor = createMonitor({
    http,
    clock,
    log: silentLog,
    random: () => 0.5,
    config: () => config,
    pickLocal,
    providers: () => NO_PROVIDERS,
    summary: () => ({ revision: 0, ...NO_PROVIDERS.counts, serving: 0, models: 0, load: null }),
    ...KEEPING_NOTHING,
  });

  function pickLocal() {
    const { baseUrl } = config.local;
    if (baseUrl === null) return { kind: 'none', reason: 'not_configured' } as const;
    const baseAddress = parseBaseAddress(baseUrl, 'local');
    const target = { provider: null, baseAddress, models: null, ownedBy: null, gatewayToken: null };
    return { kind: 'target', target } as const;
  }

  async function chat(ask: Ask): Promise<Outcome> {
    stage.begin(ask);
    const req = new IncomingMessage(new Socket());
    req.headers = {
      'content-type': 'application/json',
      'x-gateway-force-zero': ask.zero ? '1' : '0',
    };
    const res = new LostResponse(req);
    const caller = {
      endpoint: CHAT_COMPLETIONS,
      identity: { reader: true, control: false, authorization: null, key: null, keyName: null },
      cors: {},
    };
    const { circuits, predictions, prefixes, warmup, logs, budgets, keyLimits, preference } =
      monitor;
    const handled = handleChat(req, res, caller, {
      http,
      clock,
      circuits,
      predictions,
      windows: createWindows(clock),
      prefixes,
      budget: createHedgeBudget(),
      engines: createEngineActivity(clock),
      wedges: createWedgeWatch({ clock, isOn: () => false, check: () => null }),
      admission: createAdmission({ clock, limit: () => Infinity, changed() {} }),
      bodies: createBodyBudget(1),
      prefills: createPrefills(http, clock),
      items: createItemMemory(0),
      noteDropped() {},
      support: createEndpointSupport(clock),
      adjustments: createAdjustments(clock),
      warmup,
      budgets,
      keyLimits,
      preference,
      observe: (about) => logs.begin(about),
      pickLocal,
      identifyLocal: () => null,
      localUsed: () => {},
      random: () => 0.5,
      inFlightAt: (id) => monitor.stats.inFlightAt(id),
      isRunning: monitor.stats.isRunning,
      config: () => config,
      remotesIn: remoteUpstreams,
    });
    req.push(bodyOf(ask));
    req.push(null);
    // Else it counts as given up when it has been read, and takes its socket with it.
    req.complete = true;
    await handled;
    return {
      status: res.statusCode,
      upstream: String(res.sent['x-gateway-upstream']),
      reason: String(res.sent['x-gateway-fallback-reason']),
      asked: stage.asked(),
    };
  }

  return {
    rows: () => monitor.logs.rows(),
    timers: () => clock.pending(),
    ticks: () => clock.ticks(),
    status: () => Promise.resolve(monitor.status('0')),
    async act(action) {
      switch (action.kind) {
        case 'ask':
          return chat(action);
        case 'pass':
          clock.advance(action.ms);
          return null;
        // Which changes of settings reset a circuit is for the world with a host to say.
        case 'reset':
        case 'rekey':
          if (action.kind === 'rekey' && action.id === 'ondemand') monitor.warmup.forget();
          monitor.circuits.reset(action.id);
          return null;
        case 'limits':
          config = { ...config, circuit: { ...config.circuit, ...action.limits } };
          return null;
        case 'force_zero':
          config = { ...config, routing: { ...config.routing, forceZero: action.on } };
          return null;
        case 'prefer':
          if (action.id === null) monitor.preference.end();
          else if (!config.routing.forceZero && configured.has(action.id))
            monitor.preference.begin(action.id);
          return null;
      }
    },
  };
}

/** The request's body. */
export function bodyOf({ model, stream }: Ask): string {
  return JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] });
}

function loaded(configured: ReadonlySet<UpstreamId>): Config {
  const urls = Object.fromEntries([...configured].map((id) => [id, `http://${id}.test`]));
  const env = Object.entries({ ...SETTINGS, ...at(urls) }).map(([name, value]) => [
    `INGLENOOK_${name}`,
    value,
  ]);
  const result = loadConfig(Object.fromEntries(env) as Record<string, string>, {});
  if (result.kind === 'refused') throw new Error(result.problems.join('\n'));
  return { ...result.config, circuit: { ...result.config.circuit, ...FIRST_LIMITS } };
}

/** A way out at whose end upstreams behave as the stage says. */
function createScriptedClient(stage: Stage): HttpClient {
  return {
    dropIdle() {},
    close() {},
    send(request, listener) {
      let isOver = false;
      const exchange = {
        listener,
        pause() {},
        resume() {},
        abort: () => void (isOver = true),
        hasLeft: () => true,
      };
      const id = UPSTREAM_IDS.find((each) => request.origin.includes(each)) ?? 'local';
      const tell = (say: (to: typeof listener) => void) => {
        if (!isOver) say(exchange.listener);
      };
      const play = (met: Behaviour) => {
        const error = ERRORS[met];
        if (met === 'timeout') return;
        if (met === 'refused') {
          const failure = { kind: 'unreachable', stale: false, detail: 'refused' } as const;
          tell((to) => to.onFailure(failure));
        } else if (error === undefined) {
          tell((to) => to.onHead(200, { 'content-type': 'text/event-stream' }));
          tell((to) => to.onData(Buffer.from(CONTENT)));
          if (met === 'cut') {
            tell((to) => to.onFailure({ kind: 'cut', stale: false, detail: 'cut' }));
          } else {
            tell((to) => to.onData(Buffer.from(REST)));
            tell((to) => to.onEnd());
          }
        } else {
          const [status, message, headers] = error;
          tell((to) => to.onHead(status, { 'content-type': 'application/json', ...headers }));
          tell((to) => to.onData(Buffer.from(JSON.stringify({ error: { message } }))));
          tell((to) => to.onEnd());
        }
      };
      queueMicrotask(() => play(stage.next(id)));
      return exchange;
    },
  };
}
