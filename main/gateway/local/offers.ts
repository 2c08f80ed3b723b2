import type { LocalTarget } from '../request/upstreams.ts';

type Targets = readonly LocalTarget[];

/** By the list of targets, which stays the same array for as long as it does not change. */
const indexes = new WeakMap<Targets, ReadonlyMap<string, Targets>>();

/** The machines that offer `model`; none where no model is asked for. A list is searched once, however long. */
export function offering(targets: Targets, model: string | null): Targets {
  if (model === null) return [];
  let index = indexes.get(targets);
  if (index === undefined) {
    index = indexOf(targets);
    indexes.set(targets, index);
  }
  return index.get(model) ?? [];
}

function indexOf(targets: Targets): ReadonlyMap<string, Targets> {
  const index = new Map<string, LocalTarget[]>();
  for (const target of targets) {
    for (const model of new Set(target.models)) {
      const those = index.get(model);
      if (those === undefined) index.set(model, [target]);
      else those.push(target);
    }
  }
  return index;
}
