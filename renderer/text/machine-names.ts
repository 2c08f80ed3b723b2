import type { MachineNames } from '#shared/ids.ts';
import { t } from './t.ts';

/** The display names of machines, with the id if two have the same name. */
export function distinctNames(names: MachineNames): ReadonlyMap<string, string> {
  const all = Object.entries(names);
  const byName = Map.groupBy(all, ([, name]) => name);
  return new Map(
    all.map(([id, name]) => {
      const isShared = (byName.get(name) ?? []).length > 1;
      return [id, isShared ? t.usage.sameName(name, digitsOf(id)) : name];
    }),
  );
}

/** What a machine is called whose name is not known any more. */
export const unknownMachine = (id: string) => t.usage.machine(digitsOf(id));

/** Enough of a machine's id to tell two apart: eight digits after `prv_`. */
const digitsOf = (id: string) => id.slice(4, 12);
