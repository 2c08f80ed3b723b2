import type { MachineNames } from '#shared/ids.ts';
import { t } from './t.ts';

/** The display names of machines, with the id if two have the same name. */
export function distinctNames(names: MachineNames): ReadonlyMap<string, string> {
  const all = Object.entries(names);
  const byName = Map.groupBy(all, ([, name]) => name);
  return new Map(
    all.map(([id, name]) => {
      const isShared = (byName.get(name) ?? []).length > 1;
      return [id, isShared ? t.usage.sameName(name, shortId(id)) : name];
    }),
  );
}

/** Enough of a machine's id to tell two apart: `prv_` and eight digits. */
export const shortId = (id: string) => id.slice(0, 12);
