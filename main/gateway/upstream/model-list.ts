import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { namedAliases } from '../protocols/aliases.ts';
import type { LocalChoice } from './call.ts';
import type { ListedModel } from './listed-models.ts';
import { type LocalTarget, type RemoteUpstream, takenModels } from './upstreams.ts';

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

interface Known {
  readonly config: Config;
  readonly local: LocalChoice;
  readonly remotes: readonly RemoteUpstream[];
  /** What a hosted upstream has listed, as far as it is known. */
  readonly listedBy: (upstream: RemoteUpstream) => readonly ListedModel[];
  /** Of a model of one's own, in tokens; null while unknown. */
  readonly windowAt: (target: LocalTarget, model: string) => number | null;
}

/** In OpenAI's format: the models of `local`, those that the other upstreams take, and aliases. */
export function modelList(known: Known): {
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
  { local, remotes, listedBy, windowAt }: Known,
): readonly ListedModel[] {
  if (id === 'local') return localModels(local, windowAt);
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return [];
  const listed = listedBy(upstream);
  const taken = takenModels(upstream);
  if (taken.length === 0) return listed;
  return taken.map((name) => listed.find((each) => each.id === name) ?? bare(name));
}

/** Of the engine, or of all machines of the pool together. */
function localModels(local: LocalChoice, windowAt: Known['windowAt']): readonly ListedModel[] {
  switch (local.kind) {
    case 'none':
      return [];
    case 'target':
      return modelsAt(local.target, windowAt);
    case 'tier':
      return withSmallestWindow(local.targets.flatMap((target) => modelsAt(target, windowAt)));
  }
}

/** With the window that is served, which may be smaller than what the list says. */
function modelsAt(target: LocalTarget, windowAt: Known['windowAt']): readonly ListedModel[] {
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
