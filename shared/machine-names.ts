import type { MachineNames } from './ids.ts';
import type { RequestRow } from './live.ts';

/** The machines that the requests asked, as the first of them that has a name has it. */
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

/** Those of the machines that have a name now. */
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
