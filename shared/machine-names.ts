import { type MachineNames, PROVIDER_PREFIX } from './ids.ts';
import type { RequestRow } from './live.ts';

/** Names of the machines that the requests called, each from the first row that has one. */
export function machinesIn(rows: readonly RequestRow[]): MachineNames {
  const names = new Map<string, string>();
  for (const { attempts } of rows) {
    for (const { provider, machine } of attempts) {
      if (provider !== null && machine !== null && !names.has(provider)) {
        names.set(provider, machine);
      }
    }
  }
  return Object.fromEntries(names);
}

export function namesNow(
  ids: readonly string[],
  nameOf: (id: string) => string | null,
): MachineNames {
  const named = [...new Set(ids)].flatMap((id) => {
    const name = nameOf(id);
    return name === null ? [] : [[id, name] as const];
  });
  return Object.fromEntries(named);
}

/** The display names of machines, with the id if two have the same name. */
export function distinctNames(names: MachineNames): ReadonlyMap<string, string> {
  const all = Object.entries(names);
  const byName = Map.groupBy(all, ([, name]) => name);
  return new Map(
    all.map(([id, name]) => {
      const isShared = (byName.get(name) ?? []).length > 1;
      return [id, isShared ? `${name} (${digitsOf(id)})` : name];
    }),
  );
}

/** What a machine is called whose name is not known any more. */
export const unknownMachine = (id: string) => `machine ${digitsOf(id)}`;

/** Names the machines in a message of the gateway, which tells apps their ids alone. */
export function withMachineNames(message: string, names: ReadonlyMap<string, string>): string {
  return message.replaceAll(MACHINE_ID, (id) => names.get(id) ?? unknownMachine(id));
}

const MACHINE_ID = /prv_[0-9a-f]{32}/g;

/** Enough of a machine's id to tell two apart. */
const digitsOf = (id: string) => id.slice(PROVIDER_PREFIX.length, PROVIDER_PREFIX.length + 8);
