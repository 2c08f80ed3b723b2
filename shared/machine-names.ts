import type { MachineNames } from './ids.ts';
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

/** The current names of those machines that have one. */
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
