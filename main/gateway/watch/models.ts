import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import type { LocalChoice } from '../request/calls.ts';

interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  /** The first upstream, in routing order, that has it. */
  readonly owned_by: string;
}

/** OpenAI's list of models: what `local` offers and what the other upstreams are set to. */
export function modelList(
  config: Config,
  local: LocalChoice,
): { readonly object: 'list'; readonly data: readonly ModelEntry[] } {
  const owners = new Map<string, string>();
  for (const id of UPSTREAM_IDS) {
    for (const model of modelsOf(id, config, local)) {
      if (!owners.has(model)) owners.set(model, id);
    }
  }
  const data = [...owners].map(([id, owner]): ModelEntry => {
    return { id, object: 'model', created: 0, owned_by: owner };
  });
  return { object: 'list', data };
}

/** What the engine offers, or all machines of the tier together. */
function localModels(local: LocalChoice): readonly string[] {
  switch (local.kind) {
    case 'none':
      return [];
    case 'target':
      return local.target.models ?? [];
    case 'tier':
      return local.targets.flatMap(({ models }) => models ?? []);
  }
}

function modelsOf(
  id: (typeof UPSTREAM_IDS)[number],
  config: Config,
  local: LocalChoice,
): readonly string[] {
  if (id === 'local') return localModels(local);
  const { baseUrl, model } = config[id];
  return baseUrl === null || model === null ? [] : [model];
}
