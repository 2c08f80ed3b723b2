import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import type { GpuFigures } from '#shared/agent.ts';
import type { LiveEvent, ProvidersSummary } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import { FACETS, REQUEST_FILTERS, type RequestsWanted } from '#shared/request-filter.ts';
import type { StatusReport } from '#shared/status.ts';
import { HISTORY_RANGES, type HistoryReport, type UsageHistory } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { NOSNIFF, sendBody, sendJson } from '../../platform/http/responses.ts';
import { processUsage } from '../../platform/process.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { type GatewayError, invalidParam } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import type { Stats } from '../monitoring/counters.ts';
import { exposition, EXPOSITION_TYPE, metricsOf } from '../monitoring/metrics.ts';
import type { LiveFeed } from '../monitoring/live-feed.ts';
import type { RequestReader } from '../monitoring/monitor.ts';
import type { SightingsMonitor } from '../monitoring/sightings.ts';
import type { StatusScope } from '../monitoring/status.ts';
import type { TrafficCounts } from '../monitoring/traffic.ts';
import type { Windows } from '../routing/windows.ts';
import type { LocalChoice } from '../upstream/call.ts';
import type { ModelCatalogue } from '../upstream/model-catalogue.ts';
import { modelList } from '../upstream/model-list.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { ASKED_DAYS, type AskedAt } from '../usage/asked.ts';
import type { Budgets, KeyLimits } from '../usage/budgets.ts';
import type { UsageRecorder } from '../usage/recorder.ts';
import type { AskedModel, AskedModels } from '#shared/models.ts';
import { isUpstreamId } from '#shared/ids.ts';
import { useByName } from '../../engines/models.ts';
import { aliased } from '../protocols/aliases.ts';

interface AppDeps {
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly catalogue: ModelCatalogue;
  readonly windows: Pick<Windows, 'windowAt'>;
  readonly status: (forceZeroHeader: string, scope?: StatusScope) => StatusReport;
  readonly stats: Stats;
  readonly traffic: TrafficCounts;
  readonly circuits: Circuits;
  readonly budgets: Pick<Budgets, 'of'>;
  readonly keys: Pick<NamedKeys, 'list'>;
  readonly keyLimits: Pick<KeyLimits, 'of'>;
  readonly usage: UsageRecorder;
  readonly summary: () => ProvidersSummary;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  /** This machine's GPUs as last read. */
  readonly gpus: () => readonly GpuFigures[];
  readonly app: () => { readonly version: string; readonly command: string };
  readonly feed: LiveFeed;
  readonly sightings: Pick<SightingsMonitor, 'look'>;
  readonly sessions: Sessions;
  readonly isDemo: boolean;
  readonly controlLink: () => string;
  readonly endAtStop: (stream: ServerResponse) => void;
}

function badCode(command: string): GatewayError {
  const message = `This link has already been used or is over 10 minutes old; run "${command} open" for a new one.`;
  return { status: 401, code: 'invalid_code', message };
}

export function appHandlers(deps: AppDeps) {
  const { config, pickLocal, remotes, catalogue, status, feed, sessions } = deps;
  const listedBy = (upstream: RemoteUpstream) => catalogue.listedBy(upstream);
  const models = () =>
    modelList({
      config: config(),
      local: pickLocal(),
      remotes: remotes(),
      listedBy,
      windowAt: deps.windows.windowAt,
    });
  return {
    models: (req: Request, res: Response) => {
      // Codex wants a catalogue in its own form; with an empty one it keeps the one it brings (ding113/claude-code-hub#1342).
      const catalog = 'client_version' in req.query ? { models: [] } : {};
      sendJson(res, 200, { ...models(), ...catalog });
    },
    model: (req: Request, res: Response) => {
      // Names such as `org/model` have a slash.
      const id = [req.params['id']].flat().join('/');
      const model = models().data.find((each) => each.id === id);
      if (model === undefined) sendError(res, noModel(id));
      else sendJson(res, 200, model);
    },
    askedModels: async (_req: Request, res: Response) => {
      const { names, problem } = await deps.usage.asked();
      const listed = models().data.flatMap(({ id, alias_of: of }) => (of === undefined ? id : []));
      const known = { listed, aliases: config().routing.modelAliases, nameOf: deps.nameOf };
      sendJson(res, 200, { days: ASKED_DAYS, ...askedModels(names, known), problem });
    },
    status: (req: Request, res: Response) => {
      sendJson(res, 200, status(req.get('x-gateway-force-zero') ?? '0', 'known'));
    },
    events: (req: Request, res: Response) => {
      if (req.method === 'HEAD') {
        res.writeHead(200, EVENTS_HEAD).end();
        return;
      }
      streamEvents(res, feed, deps.clock);
      deps.endAtStop(res);
    },
    snapshot: async (_req: Request, res: Response) => {
      await deps.sightings.look();
      sendJson(res, 200, feed.snapshot());
    },
    metrics: (_req: Request, res: Response) => sendMetrics(res, deps),
    history: async (req: Request, res: Response) => {
      const { range = 'day' } = req.query;
      const known = HISTORY_RANGES.find((each) => each === range);
      if (known === undefined)
        sendError(res, invalidParam('range', `must be one of ${HISTORY_RANGES.join(', ')}`));
      else sendJson(res, 200, withNames(await deps.usage.history(known), deps.nameOf));
    },
    alive: (_req: Request, res: Response) => sendJson(res, 200, { status: 'ok' }),
    ready: (_req: Request, res: Response) => {
      const { ok } = status('0');
      sendJson(res, ok ? 200 : 503, { status: ok ? 'ready' : 'no upstream can serve now' });
    },
    redeemCode: async (req: Request, res: Response) => {
      const body = req.body as { readonly code?: unknown } | undefined;
      const token = typeof body?.code === 'string' ? await sessions.redeem(body.code) : null;
      if (token === null) sendError(res, badCode(deps.app().command));
      else sendJson(res, 200, { token, keep: deps.isDemo ? 'browser' : 'tab' });
    },
    newLink: (_req: Request, res: Response) => sendJson(res, 200, { link: deps.controlLink() }),
  };
}

function withNames(history: UsageHistory, nameOf: AppDeps['nameOf']): HistoryReport {
  const ids = [...history.machines, ...history.parts].flatMap(({ provider }) => provider ?? []);
  return { ...history, names: namesNow(ids, nameOf) };
}

function noModel(id: string): GatewayError {
  const message = `There is no model "${id.slice(0, 100)}" here; GET /v1/models lists them.`;
  return { status: 404, code: 'model_not_found', message };
}

function sendMetrics(res: Response, deps: AppDeps): void {
  const { app, status, stats, traffic, circuits, summary, budgets, keys, keyLimits } = deps;
  const families = metricsOf({
    version: app().version,
    status: status('0'),
    inFlight: stats.view().inFlight,
    traffic: traffic.view(),
    budgetsOf: (id) => budgets.of(id),
    keyLimits: keys.list().flatMap(({ name }) => keyLimits.of(name)),
    currency: deps.config().gateway.currency,
    circuitAt: (id) => circuits.at(id).breaker.state.kind,
    providers: summary(),
    gpus: deps.gpus(),
    process: processUsage(),
  });
  const body = Buffer.from(exposition(families));
  sendBody(res, 200, body, { 'content-type': EXPOSITION_TYPE });
}

/** A reader that has not read this much gets a new snapshot instead of further deltas. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** After a longer silence, proxies and sleeping tabs could drop the connection unnoticed. */
const KEEP_ALIVE_MS = 15_000;

const EVENTS_HEAD = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  ...NOSNIFF,
};

/** Streams the live feed as server-sent events until the reader disconnects. */
function streamEvents(res: ServerResponse, feed: LiveFeed, clock: Clock): void {
  let overflowed = false;
  let cancelTimer = () => {};
  const send = (event: LiveEvent) => {
    // The gateway is stopping and has ended the stream, which closes only once the reader has read the rest.
    if (overflowed || res.writableEnded) return;
    res.write(`data: ${JSON.stringify(event)}\n\n`);
    overflowed = res.writableLength > MAX_UNREAD_BYTES;
  };
  const keepAlive = () => {
    if (!overflowed && !res.writableEnded) res.write(': still here\n\n');
    cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  };
  res.writeHead(200, EVENTS_HEAD);
  const unsubscribe = feed.subscribe(send);
  send(feed.snapshot());
  cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  res.on('drain', () => {
    if (!overflowed) return;
    overflowed = false;
    send(feed.snapshot());
  });
  res.on('close', () => {
    unsubscribe();
    cancelTimer();
  });
}

export function requestHandlers({ requests }: { readonly requests: RequestReader }) {
  return {
    list: async (req: Request, res: Response) => {
      const wanted = wantedOf(req.query);
      if ('code' in wanted) sendError(res, wanted);
      else sendJson(res, 200, await requests.page(wanted));
    },
    get: async (req: Request, res: Response) => {
      const id = String(req.params['id']);
      const row = await requests.one(id);
      if (row === null) sendError(res, notFound(id));
      else sendJson(res, 200, row);
    },
  };
}

type Query = Request['query'];

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
const NARROWINGS = [...FACETS, 'text'] as const;

/** An error names the first bad parameter. */
function wantedOf(query: Query): RequestsWanted | GatewayError {
  const { outcome = 'all' } = query;
  const filter = REQUEST_FILTERS.find((name) => name === outcome);
  if (filter === undefined)
    return invalidParam('outcome', `must be one of ${REQUEST_FILTERS.join(', ')}`);
  const repeated = NARROWINGS.find((name) => typeof (query[name] ?? '') !== 'string');
  if (repeated !== undefined) return invalidParam(repeated, 'must be given only once');
  const before = wholeNumber(query['before']);
  if (Number.isNaN(before)) return invalidParam('before', 'must be a time in whole milliseconds');
  const limit = wholeNumber(query['limit']) ?? DEFAULT_LIMIT;
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return invalidParam('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  const by = NARROWINGS.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  return { filter, by: Object.fromEntries(by) as RequestsWanted['by'], before, limit };
}

/** Null if the parameter is missing, NaN if it is not a whole number. */
function wholeNumber(given: Query[string]): number | null {
  if (given === undefined) return null;
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : NaN;
}

function notFound(id: string): GatewayError {
  const message = `There is no request "${id.slice(0, 100)}", or it is no longer stored.`;
  return { status: 404, code: 'not_found', message };
}

interface Known {
  /** Names of models that upstreams list. */
  readonly listed: readonly string[];
  readonly aliases: readonly string[];
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
}

/** A longer list is no help in choosing. */
const MAX_MODELS = 1000;

/** What apps asked for, by name, with where it went and where it would go by an alias. */
function askedModels(
  asked: readonly AskedAt[],
  { listed, aliases, nameOf }: Known,
): Pick<AskedModels, 'names' | 'models'> {
  const own = new Set(listed);
  const isOwn = (name: string) => own.has(name) || own.has(`${name}:latest`);
  const names = [...Map.groupBy(asked, ({ name }) => name)].map(([name, places]): AskedModel => ({
    name,
    calls: places.reduce((sum, { calls }) => sum + calls, 0),
    lastAt: Math.max(...places.map(({ lastAt }) => lastAt)),
    destinations: places.map(({ upstream, provider, model, calls }) => ({
      upstream: isUpstreamId(upstream) ? upstream : null,
      provider: provider || null,
      machine: provider === '' ? null : nameOf(provider),
      model: model || null,
      calls,
    })),
    aliasOf: aliased(aliases, { name, isOwn, keepsModel: false }),
    isListed: isOwn(name),
  }));
  return {
    names: names.toSorted((a, b) => b.calls - a.calls),
    models: listed.filter((id) => useByName(id) === null).slice(0, MAX_MODELS),
  };
}
