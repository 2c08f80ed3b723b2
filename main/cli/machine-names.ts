import { z } from 'zod';
import { distinctNames } from '#shared/machine-names.ts';
import { callRunning, type Running } from './running-app.ts';

/** Enough for a home and an office; the machines beyond are called by their ids. */
const MAX_MACHINES = 1000;
/** A name is worth no longer wait. */
const TIMEOUT_MS = 2000;

const LIST = z.looseObject({
  data: z.array(
    z.looseObject({ id: z.string(), host: z.looseObject({ hostname: z.string().catch('') }) }),
  ),
});

const NOTES = z.looseObject({ notes: z.record(z.string(), z.looseObject({ name: z.string() })) });

/** The names of the gateway's machines by their ids, two of one name told apart; those that have none are left out. */
export async function machineNames(running: Running): Promise<ReadonlyMap<string, string>> {
  const call = { method: 'GET', timeoutMs: TIMEOUT_MS } as const;
  const [list, own] = await Promise.all([
    callRunning(running, { ...call, path: `providers?limit=${MAX_MACHINES}`, answer: LIST }),
    callRunning(running, { ...call, path: 'providers/notes', answer: NOTES }),
  ]);
  const notes = own.body?.notes ?? {};
  const named = (list.body?.data ?? []).flatMap(({ id, host }) => {
    const name = notes[id]?.name || host.hostname.trim();
    return name ? [[id, name] as const] : [];
  });
  return distinctNames(Object.fromEntries(named));
}
