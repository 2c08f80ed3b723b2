import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { aliasesOf } from '../protocols/chat-request.ts';
import type { LocalChoice } from './call.ts';
import type { ListedModel } from './listed-models.ts';
import { type RemoteUpstream, takenModels } from './upstreams.ts';

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
  for (const [alias, model] of aliasesOf(known.config.routing.modelAliases)) {
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

/** Fills in what the first upstream does not say from a later one. */
function alsoAt(id: UpstreamId, entry: ModelEntry, model: ListedModel): ModelEntry {
  const upstreams = entry.upstreams.includes(id) ? entry.upstreams : [...entry.upstreams, id];
  const created = entry.created === 0 ? (model.created ?? 0) : entry.created;
  return { ...entryOf(id, model), ...entry, upstreams, created };
}

const bare = (id: string): ListedModel => ({ id, created: null, owner: null, contextLength: null });

/** Of a hosted upstream that takes any name, all that it lists: others would be sent another model. */
function modelsOf(id: UpstreamId, { local, remotes, listedBy }: Known): readonly ListedModel[] {
  if (id === 'local') return localModels(local);
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return [];
  const listed = listedBy(upstream);
  const taken = takenModels(upstream);
  if (taken.length === 0) return listed;
  return taken.map((name) => listed.find((each) => each.id === name) ?? bare(name));
}

/** Of the engine, or of all machines of the pool together. */
function localModels(local: LocalChoice): readonly ListedModel[] {
  switch (local.kind) {
    case 'none':
      return [];
    case 'target':
      return local.target.listed ?? (local.target.models ?? []).map(bare);
    case 'tier':
      return local.targets.flatMap(({ models }) => (models ?? []).map(bare));
  }
}
