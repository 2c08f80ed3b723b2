import type { ProviderTable } from './provider-table.ts';

/** What the machines that routing may choose now can do together. */
export interface Capacity {
  readonly serving: number;
  /** Different ones. */
  readonly models: number;
  /** Mean load of their GPUs in percent; null where none reports it. */
  readonly load: number | null;
}

/** Computed once for each revision of the registry: thousands of machines are asked for at every frame of the feed. */
export function createCapacity(table: ProviderTable): () => Capacity {
  let known: { readonly key: string; readonly capacity: Capacity } | null = null;
  return () => {
    const targets = table.targets();
    const key = `${table.revision()} ${targets.length}`;
    if (known?.key === key) return known.capacity;
    const models = new Set(targets.flatMap((target) => target.models));
    const loads = targets.flatMap(({ id }) =>
      (table.get(id)?.shown?.gpu.devices ?? []).flatMap(({ util_gpu }) => util_gpu ?? []),
    );
    const sum = loads.reduce((total, load) => total + load, 0);
    const load = loads.length === 0 ? null : Math.round(sum / loads.length);
    known = { key, capacity: { serving: targets.length, models: models.size, load } };
    return known.capacity;
  };
}
