import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import type { GpuFigures } from '#shared/agent.ts';
import type { LiveEvent, ProvidersSummary } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import { FACETS, REQUEST_FILTERS, type RequestsWanted } from '#shared/request-filter.ts';
import { HISTORY_RANGES, type HistoryReport, type UsageHistory } from '#shared/usage.ts';
import type { AskedModel, AskedModels } from '#shared/models.ts';
import { isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { isoTime } from '../../platform/dates.ts';
import { NOSNIFF, sendBody, sendJson } from '../../platform/http/responses.ts';
import { processUsage } from '../../platform/process.ts';
import type { NamedKeys } from '../auth/named-keys.ts';
import type { Sessions } from '../auth/sessions.ts';
import { errorShapeFor, type GatewayError, invalidParam } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import { exposition, EXPOSITION_TYPE, metricsOf } from '../monitoring/metrics.ts';
import type { LiveFeed } from '../monitoring/live-feed.ts';
import type { Monitor, RequestReader } from '../monitoring/monitor.ts';
import type { SightingsMonitor } from '../monitoring/sightings.ts';
import type { Windows } from '../routing/windows.ts';
import { type LocalChoice, targetsOf } from '../upstream/call.ts';
import type { ModelCatalogue } from '../upstream/model-catalogue.ts';
import { type RemoteUpstream, type LocalTarget, takenModels } from '../upstream/upstreams.ts';
import { ASKED_DAYS, type AskedAt } from '../usage/asked.ts';
import { useByName } from '../../engines/models.ts';
import { aliased, namedAliases } from '../protocols/aliases.ts';
import type { ListedModel } from '../upstream/listed-models.ts';

type Monitored = 'stats' | 'traffic' | 'circuits' | 'budgets' | 'keyLimits' | 'usage' | 'feed';

interface AppDeps extends Pick<Monitor, Monitored | 'status'> {
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly catalogue: ModelCatalogue;
  readonly windows: Pick<Windows, 'windowAt'>;
  readonly keys: Pick<NamedKeys, 'list'>;
  readonly summary: () => ProvidersSummary;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  readonly gpus: () => readonly GpuFigures[];
  readonly app: () => { readonly version: string; readonly command: string };
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
      const list = asksForAnthropic(req) ? asAnthropicPage(models()) : models();
      sendJson(res, 200, { ...list, ...catalog });
    },
    model: (req: Request, res: Response) => {
      // Names such as `org/model` have a slash.
      const id = [req.params['id']].flat().join('/');
      const { data } = models();
      const isAlike = (each: ModelEntry) => each.id.toLowerCase() === id.toLowerCase();
      // OpenCode asks in lower case (diegosouzapw/OmniRoute#5135).
      const model = data.find((each) => each.id === id) ?? data.find(isAlike);
      if (model === undefined) sendError(res, noModel(id));
      else sendJson(res, 200, asksForAnthropic(req) ? asAnthropicModel(model) : model);
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

interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  /** 0 where it is not known. */
  readonly created: number;
  /** The first upstream in routing order that has the model. */
  readonly owned_by: string;
  readonly upstreams: readonly UpstreamId[];
  /** As that upstream names it. */
  readonly owner?: string;
  readonly context_length?: number;
  readonly alias_of?: string;
}

/** Claude Code asks for its picker with a limit (https://code.claude.com/docs/en/llm-gateway-protocol#model-discovery). */
const asksForAnthropic = (req: Request): boolean =>
  errorShapeFor({ url: req.url, headers: req.headers }) === 'anthropic' || 'limit' in req.query;

/** Also in Anthropic's form, whose fields have other names. */
function asAnthropicModel(entry: ModelEntry) {
  const created_at = isoTime(entry.created * 1000);
  const max_input_tokens = entry.context_length ?? null;
  return { ...entry, type: 'model', display_name: entry.id, created_at, max_input_tokens };
}

/** All on one page, whatever the limit. */
function asAnthropicPage({ object, data }: ReturnType<typeof modelList>) {
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object, data: data.map(asAnthropicModel), has_more: false, first_id, last_id };
}

interface ListSources {
  readonly config: Config;
  readonly local: LocalChoice;
  readonly remotes: readonly RemoteUpstream[];
  /** What a hosted upstream has listed, as far as it is known. */
  readonly listedBy: (upstream: RemoteUpstream) => readonly ListedModel[];
  /** Of a model of one's own, in tokens; null while unknown. */
  readonly windowAt: (target: LocalTarget, model: string) => number | null;
}

/** In OpenAI's format: the models of `local`, those that the other upstreams take, and aliases. */
export function modelList(known: ListSources): {
  readonly object: 'list';
  readonly data: readonly ModelEntry[];
} {
  const entries = new Map<string, ModelEntry>();
  for (const id of UPSTREAM_IDS) {
    for (const model of modelsOf(id, known)) {
      const before = entries.get(model.id);
      entries.set(model.id, before === undefined ? entryOf(id, model) : alsoAt(id, before, model));
    }
  }
  for (const [alias, model] of namedAliases(known.config.routing.modelAliases)) {
    const entry = entries.get(model) ?? { ...entryOf('local', bare(model)), upstreams: [] };
    entries.set(alias, { ...entry, id: alias, alias_of: model });
  }
  return { object: 'list', data: [...entries.values()] };
}

function entryOf(
  upstream: UpstreamId,
  { id, created, owner, contextLength }: ListedModel,
): ModelEntry {
  return {
    id,
    object: 'model',
    created: created ?? 0,
    owned_by: upstream,
    upstreams: [upstream],
    ...(owner === null ? {} : { owner }),
    ...(contextLength === null ? {} : { context_length: contextLength }),
  };
}

/** Fills in what the first upstream does not say from a later one; a hosted window says nothing of one's own. */
function alsoAt(id: UpstreamId, entry: ModelEntry, model: ListedModel): ModelEntry {
  const upstreams = entry.upstreams.includes(id) ? entry.upstreams : [...entry.upstreams, id];
  const created = entry.created === 0 ? (model.created ?? 0) : entry.created;
  const isWindowOpen = entry.owned_by === 'local' && id !== 'local';
  const later = entryOf(id, isWindowOpen ? { ...model, contextLength: null } : model);
  return { ...later, ...entry, upstreams, created };
}

const bare = (id: string): ListedModel => ({ id, created: null, owner: null, contextLength: null });

/** Of a hosted upstream that takes any name, all that it lists: others would be sent another model. */
function modelsOf(
  id: UpstreamId,
  { local, remotes, listedBy, windowAt }: ListSources,
): readonly ListedModel[] {
  if (id === 'local')
    return withSmallestWindow(targetsOf(local).flatMap((target) => modelsAt(target, windowAt)));
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return [];
  const listed = listedBy(upstream);
  const taken = takenModels(upstream);
  if (taken.length === 0) return listed;
  return taken.map((name) => listed.find((each) => each.id === name) ?? bare(name));
}

/** With the window that is served, which may be smaller than what the list says. */
function modelsAt(target: LocalTarget, windowAt: ListSources['windowAt']): readonly ListedModel[] {
  const { models, listed, facts } = target;
  return (models ?? []).map((id) => {
    const model = listed?.find((each) => each.id === id) ?? bare(id);
    return facts === undefined ? model : { ...model, contextLength: windowAt(target, id) };
  });
}

/** An app may be served by any of the machines. */
function withSmallestWindow(models: readonly ListedModel[]): readonly ListedModel[] {
  const smallest = new Map<string, number>();
  for (const { id, contextLength: length } of models) {
    if (length !== null) smallest.set(id, Math.min(length, smallest.get(id) ?? length));
  }
  return models.map((model) => ({ ...model, contextLength: smallest.get(model.id) ?? null }));
}
