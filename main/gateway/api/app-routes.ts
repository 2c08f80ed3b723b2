import type { ServerResponse } from 'node:http';
import type { LiveEvent } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import { FACETS, REQUEST_FILTERS, type RequestQuery } from '#shared/request-filter.ts';
import { HISTORY_RANGES, type HistoryReport, type UsageHistory } from '#shared/usage.ts';
import type { AskedModel, AskedModels } from '#shared/models.ts';
import { isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { isoTime } from '../../platform/dates.ts';
import { STREAM_HEAD } from '../../platform/http/responses.ts';
import {
  answered,
  route,
  type Route,
  type RouteRequest,
  textAt,
} from '../../platform/http/routes.ts';
import { processUsage } from '../../platform/process.ts';
import {
  errorShapeFor,
  type GatewayError,
  invalidParam,
  notFound,
  refused,
} from '../http/errors.ts';
import { EXPOSITION_TYPE } from '../monitoring/exposition.ts';
import { metricsOf } from '../monitoring/metrics.ts';
import type { LiveFeed } from '../monitoring/live-feed.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { windowAt } from '../routing/windows.ts';
import { type LocalChoice, targetsOf } from '../upstream/call.ts';
import {
  type RemoteUpstream,
  type LocalTarget,
  circuitIdOf,
  takenModels,
} from '../upstream/upstreams.ts';
import { REQUESTED_DAYS, type RequestedModel } from '../usage/requested-models.ts';
import { useByName } from '../../engines/models.ts';
import { aliased, namedAliases } from '../protocols/aliases.ts';
import type { ListedModel } from '../upstream/listed-models.ts';
import type { RouteDeps } from './routes.ts';

function badCode(command: string): GatewayError {
  const message = `This link has already been used or is over 10 minutes old; run "${command} open" for a new one.`;
  return { status: 401, code: 'invalid_code', message };
}

export function appRoutes(deps: RouteDeps): readonly Route[] {
  const { config, pickLocal, remotes, catalogue, status, feed, sessions, requests } = deps;
  const listedBy = (upstream: RemoteUpstream) => catalogue.listedBy(upstream);
  const models = () =>
    modelList({
      config: config(),
      local: pickLocal(),
      remotes: remotes(),
      listedBy,
      memory: deps.memory,
    });
  return [
    route('GET', ['/api/v1/models', '/v1/models'], 'callers', (request) => {
      // Codex wants a catalogue in its own form; with an empty one it keeps the one it brings (ding113/claude-code-hub#1342).
      const catalog = 'client_version' in request.query ? { models: [] } : {};
      const list = asksForAnthropic(request) ? asAnthropicPage(models()) : models();
      return answered({ ...list, ...catalog });
    }),
    route('GET', '/api/v1/models/asked', 'callers', async () => {
      const { names, problem } = await deps.usage.requestedModels();
      const listed = models().data.flatMap(({ id, alias_of: of }) =>
        of === undefined && id !== AUTO ? id : [],
      );
      const known = { listed, aliases: config().routing.modelAliases, nameOf: deps.nameOf };
      return answered({ days: REQUESTED_DAYS, ...askedModels(names, known), problem });
    }),
    route('GET', ['/api/v1/models/*id', '/v1/models/*id'], 'callers', (request) => {
      // Names such as `org/model` have a slash.
      const id = [request.params['id']].flat().join('/');
      const { data } = models();
      const isAlike = (each: ModelEntry) => each.id.toLowerCase() === id.toLowerCase();
      // OpenCode asks in lower case (diegosouzapw/OmniRoute#5135).
      const isWithout = (each: ModelEntry) => each.id.endsWith(`/${id}`);
      const model =
        data.find((each) => each.id === id) ?? data.find(isAlike) ?? data.find(isWithout);
      if (model === undefined) return refused(noModel(id));
      return answered(asksForAnthropic(request) ? asAnthropicModel(model) : model);
    }),
    route('GET', '/api/v1/status', 'callers', ({ headers }) =>
      answered(status(String(headers['x-gateway-force-zero'] ?? '0'), 'known')),
    ),
    route('GET', '/api/v1/history', 'callers', async ({ query: { range = 'day' } }) => {
      const known = HISTORY_RANGES.find((each) => each === range);
      if (known === undefined)
        return refused(invalidParam('range', `must be one of ${HISTORY_RANGES.join(', ')}`));
      return answered(withNames(await deps.usage.history(known), deps.nameOf));
    }),
    route('GET', '/api/v1/requests', 'callers', async ({ query }) => {
      const wanted = wantedOf(query);
      return 'code' in wanted ? refused(wanted) : answered(await requests.page(wanted));
    }),
    route('GET', '/api/v1/requests/:id', 'callers', async ({ params: { id = '' } }) => {
      const row = await requests.one(id);
      return row === null ? noRequest(id) : answered(row);
    }),
    {
      method: 'GET',
      paths: ['/api/v1/events'],
      access: 'callers',
      handle(req, res) {
        if (req.method === 'HEAD') {
          res.writeHead(200, EVENTS_HEAD).end();
          return;
        }
        const mayRead = () => deps.identify(req.headers).reader;
        streamEvents(res, { feed, clock: deps.clock, mayRead });
        deps.lifecycle.endAtStop(res);
      },
    },
    route('GET', '/api/v1/snapshot', 'callers', async () => {
      await deps.checker.look();
      return answered(feed.snapshot());
    }),
    route('GET', '/metrics', 'callers', () => {
      return { kind: 'file', type: EXPOSITION_TYPE, body: Buffer.from(metrics(deps)) };
    }),
    route('GET', '/healthz', 'anyone', () => answered({ status: 'ok' })),
    route('GET', '/readyz', 'anyone', () => {
      const { ok } = status('0');
      return answered({ status: ok ? 'ready' : 'no upstream can serve now' }, ok ? 200 : 503);
    }),
    route('POST', '/api/v1/sessions', 'anyone', async ({ json }) => {
      const token = await sessions.redeem(textAt(json, 'code') ?? '');
      if (token === null) return refused(badCode(deps.app().command));
      return answered({ token, keep: deps.isDemo ? 'browser' : 'tab' });
    }),
    route('POST', '/api/v1/sessions/codes', 'control', () =>
      answered({ link: deps.controlLink() }),
    ),
  ];
}

function withNames(history: UsageHistory, nameOf: RouteDeps['nameOf']): HistoryReport {
  const ids = history.parts.flatMap(({ provider }) => provider ?? []);
  return { ...history, names: namesNow(ids, nameOf) };
}

function noModel(id: string): GatewayError {
  const message = `There is no model "${id.slice(0, 100)}" here; GET /v1/models lists them.`;
  return { status: 404, code: 'model_not_found', message };
}

function metrics(deps: RouteDeps): string {
  const { app, status, counters, circuits, summary, budgets, keys, keyLimits } = deps;
  return metricsOf({
    version: app().version,
    status: status('0'),
    inFlight: counters.inFlight(),
    counted: counters.text(),
    budgetsOf: (id) => budgets.of(id),
    keyLimits: keys.list().flatMap(({ name }) => keyLimits.of(name)),
    currency: deps.config().gateway.currency,
    circuitAt: (id) => circuits.at(id).breaker.state.kind,
    providers: summary(),
    gpus: deps.gpus(),
    process: processUsage(),
  });
}

/** A reader that has not read this much gets a new snapshot instead of further deltas. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** After a longer silence, proxies and sleeping tabs could drop the connection unnoticed. */
const KEEP_ALIVE_MS = 15_000;

const EVENTS_HEAD = { 'content-type': 'text/event-stream', ...STREAM_HEAD };

interface EventSource {
  readonly feed: LiveFeed;
  readonly clock: Clock;
  /** False once the reader's key is revoked, or where a first key was made after it came without one. */
  readonly mayRead: () => boolean;
}

function streamEvents(res: ServerResponse, { feed, clock, mayRead }: EventSource): void {
  let overflowed = false;
  let cancelTimer = () => {};
  const hasEnded = (): boolean => {
    if (!res.writableEnded && !mayRead()) res.end();
    return res.writableEnded;
  };
  const send = (event: LiveEvent) => {
    // The gateway is stopping and has ended the stream, which closes only once the reader has read the rest.
    if (overflowed || hasEnded()) return;
    res.write(`data: ${JSON.stringify(event)}\n\n`);
    overflowed = res.writableLength > MAX_UNREAD_BYTES;
  };
  const keepAlive = () => {
    if (!hasEnded() && !overflowed) res.write(': still here\n\n');
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

type Query = RouteRequest['query'];

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
const NARROWINGS = [...FACETS, 'text'] as const;

/** An error names the first bad parameter. */
function wantedOf(query: Query): RequestQuery | GatewayError {
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
  return { filter, by: Object.fromEntries(by) as RequestQuery['by'], before, limit };
}

/** Null if the parameter is missing, NaN if it is not a whole number. */
function wholeNumber(given: Query[string]): number | null {
  if (given === undefined) return null;
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : NaN;
}

const noRequest = (id: string) =>
  notFound(`There is no request "${id.slice(0, 100)}", or it is no longer stored.`);

interface NameLookup {
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
  asked: readonly RequestedModel[],
  { listed, aliases, nameOf }: NameLookup,
): Pick<AskedModels, 'names' | 'models'> {
  // A hosted model may be asked for without the name of its upstream.
  const own = new Set(listed.flatMap((id) => [id, id.slice(id.indexOf('/') + 1)]));
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
  /** The upstream that has the model; `inglenook` for the usual order. */
  readonly owned_by: string;
  readonly upstreams: readonly UpstreamId[];
  /** As that upstream names it. */
  readonly owner?: string;
  readonly context_length?: number;
  readonly alias_of?: string;
}

/** Claude Code asks for its picker with a limit (https://code.claude.com/docs/en/llm-gateway-protocol#model-discovery). */
const asksForAnthropic = ({ path, headers, query }: RouteRequest): boolean =>
  errorShapeFor({ url: path, headers }) === 'anthropic' || 'limit' in query;

/** A model in OpenAI's and in Anthropic's form, whose fields have other names. */
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
  /** Knows the context windows of own models. */
  readonly memory: Memory;
}

const NOWHERE = { ...entryOf('local', bare('')), upstreams: [] };

/** The usual order, for apps in which people have to choose a model. */
const AUTO = 'auto';

/**
 * In OpenAI's format: the usual order, the models of `local`, those that the other upstreams take, each by the name that
 * chooses it, and aliases.
 */
export function modelList(known: ListSources): {
  readonly object: 'list';
  readonly data: readonly ModelEntry[];
} {
  const entries = new Map<string, ModelEntry>();
  for (const id of UPSTREAM_IDS) {
    const upstream = known.remotes.find((remote) => remote.id === id);
    const prefix = upstream === undefined ? '' : `${upstream.prefix}/`;
    for (const model of modelsOf(id, known)) {
      const name = prefix + model.id;
      if (!entries.has(name)) entries.set(name, entryOf(id, { ...model, id: name }));
    }
  }
  for (const [alias, model] of namedAliases(known.config.routing.modelAliases)) {
    const hosted = [...entries.values()].find(({ id }) => id.endsWith(`/${model}`));
    const entry = entries.get(model) ?? hosted ?? NOWHERE;
    entries.set(alias, { ...entry, id: alias, alias_of: model });
  }
  const data = [...entries.values()];
  const upstreams = [...new Set(data.flatMap((each) => each.upstreams))];
  const auto: ModelEntry = { ...entryOf('local', bare(AUTO)), owned_by: 'inglenook', upstreams };
  return { object: 'list', data: data.length === 0 ? [] : [auto, ...data] };
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

function bare(id: string): ListedModel {
  return { id, created: null, owner: null, contextLength: null };
}

/** All that a hosted upstream lists if it takes any name: one that is set to a model would be sent that. */
function modelsOf(
  id: UpstreamId,
  { local, remotes, listedBy, memory }: ListSources,
): readonly ListedModel[] {
  if (id === 'local')
    return withSmallestWindow(
      targetsOf(local).flatMap((target) => modelsAt(target, memory.of(circuitIdOf(target)))),
    );
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return [];
  const listed = listedBy(upstream);
  const taken = takenModels(upstream);
  if (taken.length === 0) return listed;
  return taken.map((name) => listed.find((each) => each.id === name) ?? bare(name));
}

/** The models of a target, with the window that is served, which may be smaller than what the list says. */
function modelsAt(target: LocalTarget, known: Knowledge): readonly ListedModel[] {
  const { models, listed, facts } = target;
  return (models ?? []).map((id) => {
    const model = listed?.find((each) => each.id === id) ?? bare(id);
    return facts === undefined ? model : { ...model, contextLength: windowAt(known, target, id) };
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
