import type { NameUsage, NameUsageReport } from '#shared/models.ts';
import { isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { isoTime } from '../../platform/clock.ts';
import { answered, route, type Route, type RouteRequest } from '../../platform/http/routes.ts';
import { errorShapeFor, type GatewayError, refused } from '../http/errors.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { windowAt } from '../routing/windows.ts';
import type { ModelCatalogue } from '../upstream/model-catalogue.ts';
import {
  circuitIdOf,
  factsAbout,
  type LocalChoice,
  type LocalTarget,
  type RemoteUpstream,
  takenModels,
  targetsOf,
  aliased,
  namedAliases,
} from '../upstream/upstreams.ts';
import { REQUESTED_DAYS, type RequestedModel } from '../usage/queries.ts';
import { modelFacts, useByName } from '../../engines/models.ts';
import type { ListedModel } from '../upstream/listed-models.ts';

interface ModelDeps extends Pick<Monitor, 'usage'> {
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly catalogue: ModelCatalogue;
  readonly memory: Memory;
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
}

/** The models that apps may ask for, and those that they have asked for. */
export function modelRoutes(deps: ModelDeps): readonly Route[] {
  const models = () => modelList(deps);
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
      return answered({ days: REQUESTED_DAYS, ...askedModels(names, listed, deps), problem });
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
  ];
}

function noModel(id: string): GatewayError {
  const message = `There is no model "${id.slice(0, 100)}" here; GET /v1/models lists them.`;
  return { status: 404, code: 'model_not_found', message };
}

/** A longer list is no help in choosing. */
const MAX_MODELS = 1000;

/**
 * What apps asked for, by name, with where it went and where it would go by an alias. `listed` are the names of models
 * that upstreams list.
 */
function askedModels(
  asked: readonly RequestedModel[],
  listed: readonly string[],
  { config, nameOf }: ModelDeps,
): Pick<NameUsageReport, 'names' | 'models'> {
  const aliases = config().routing.modelAliases;
  // A hosted model may be asked for without the name of its upstream.
  const own = new Set(listed.flatMap((id) => [id, id.slice(id.indexOf('/') + 1)]));
  const isOwn = (name: string) => own.has(name) || own.has(`${name}:latest`);
  const names = [...Map.groupBy(asked, ({ name }) => name)].map(([name, places]): NameUsage => ({
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
  /** The upstream that has the model; `inglenook` for the usual order, `cloud` where an own engine only passes it on. */
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

const NOWHERE = { ...entryOf('local', bare('')), upstreams: [] };

/** The usual order, for apps in which people have to choose a model. */
const AUTO = 'auto';

/**
 * In OpenAI's format: the usual order, the models of `local`, those that the other upstreams take, each by the name that
 * chooses it, and aliases.
 */
function modelList(deps: ModelDeps) {
  const entries = new Map<string, ModelEntry>();
  for (const id of UPSTREAM_IDS) {
    const upstream = deps.remotes().find((remote) => remote.id === id);
    const prefix = upstream === undefined ? '' : `${upstream.prefix}/`;
    for (const model of modelsOf(id, deps)) {
      const name = prefix + model.id;
      if (!entries.has(name)) entries.set(name, entryOf(id, { ...model, id: name }));
    }
  }
  for (const [alias, model] of namedAliases(deps.config().routing.modelAliases)) {
    const hosted = [...entries.values()].find(({ id }) => id.endsWith(`/${model}`));
    const entry = entries.get(model) ?? hosted ?? NOWHERE;
    entries.set(alias, { ...entry, id: alias, alias_of: model });
  }
  const data = [...entries.values()];
  const upstreams = [...new Set(data.flatMap((each) => each.upstreams))];
  const auto: ModelEntry = { ...entryOf('local', bare(AUTO)), owned_by: 'inglenook', upstreams };
  return { object: 'list', data: data.length === 0 ? [] : [auto, ...data] } as const;
}

/** `isPassedOn`: the engine has it from a service. */
type OfferedModel = ListedModel & { readonly isPassedOn?: boolean };

function entryOf(
  upstream: UpstreamId,
  { id, created, owner, contextLength, isPassedOn }: OfferedModel,
): ModelEntry {
  return {
    id,
    object: 'model',
    created: created ?? 0,
    owned_by: isPassedOn === true ? 'cloud' : upstream,
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
  { pickLocal, remotes, catalogue, memory }: ModelDeps,
): readonly OfferedModel[] {
  if (id === 'local')
    return withSmallestWindow(
      targetsOf(pickLocal()).flatMap((target) => modelsAt(target, memory.of(circuitIdOf(target)))),
    );
  const upstream = remotes().find((remote) => remote.id === id);
  if (upstream === undefined) return [];
  const listed = catalogue.listedBy(upstream);
  const taken = takenModels(upstream);
  if (taken.length === 0) return listed;
  return taken.map((name) => listed.find((each) => each.id === name) ?? bare(name));
}

/** The models of a target, with the window that is served, which may be smaller than what the list says. */
function modelsAt(target: LocalTarget, known: Knowledge): readonly OfferedModel[] {
  const { models, listed } = target;
  return models.map((id) => {
    const model = listed.find((each) => each.id === id) ?? bare(id);
    const facts = factsAbout(target, id);
    const contextLength = windowAt(known, id, facts?.context_length ?? null);
    return { ...model, contextLength, isPassedOn: (facts ?? modelFacts(id)).remote === true };
  });
}

/** An app may be served by any of the machines. */
function withSmallestWindow(models: readonly OfferedModel[]): readonly OfferedModel[] {
  const smallest = new Map<string, number>();
  for (const { id, contextLength: length } of models) {
    if (length !== null) smallest.set(id, Math.min(length, smallest.get(id) ?? length));
  }
  return models.map((model) => ({ ...model, contextLength: smallest.get(model.id) ?? null }));
}
