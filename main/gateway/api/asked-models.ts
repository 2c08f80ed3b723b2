import type { AskedModel, AskedModels } from '#shared/asked-models.ts';
import { isUpstreamId } from '#shared/ids.ts';
import { useByName } from '../../engines/model-facts.ts';
import { aliased } from '../protocols/aliases.ts';
import type { AskedAt } from '../usage/asked.ts';

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
export function askedModels(
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
