import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openRegistryStore } from '../app/registry-store.ts';
import { readKeyFile } from '../config/key-file.ts';
import { loadConfig } from '../config/load.ts';
import { readSettings } from '../config/settings-file.ts';
import { systemClock } from '../platform/clock.ts';
import { claimDataDirectory, takenText } from '../platform/data-lock.ts';
import { silentLog } from '../platform/log.ts';
import { isLoopback } from '../platform/network-guard.ts';
import { noteDocument } from '../registry/owner-notes.ts';
import { type OpenedStore, openStore } from '../registry/store/open-store.ts';
import { type StoreChange, EVENTS_KEPT, type StoredProvider } from '../registry/store/store.ts';
import type { Input } from './command.ts';
import { answer, failed, type CommandOutcome } from './outcome.ts';

const STORE_DEPS = { openStore, clock: systemClock, log: silentLog };
const FILE = 'registry.db';

/** Copies the machines in this gateway's file that its pool does not have yet. */
export async function importFile({ env, dataDirectory }: Input): Promise<CommandOutcome> {
  const { tree } = readSettings(dataDirectory, Date.now());
  const loaded = loadConfig(env, tree, readKeyFile(dataDirectory));
  if (loaded.kind === 'refused') return failed(loaded.problems.join('\n'));
  const path = join(dataDirectory, FILE);
  if (loaded.config.gateway.databaseUrl === null) return failed(NO_POOL);
  if (!existsSync(path)) return failed(`There is no ${path}: there is nothing to import.`);
  const claim = claimDataDirectory(dataDirectory, Date.now());
  if (claim.kind === 'taken') return failed(takenText(dataDirectory, claim.owner));
  const from = await openStore(path, STORE_DEPS);
  const { opened: to } = await openRegistryStore(loaded.config, dataDirectory, STORE_DEPS);
  try {
    return await copyMachines(from, to);
  } finally {
    for (const opened of [from, to]) if (opened.kind === 'open') await opened.store.close();
    claim.lock.release();
  }
}

const NO_POOL = 'SWITCHYARD_DATABASE_URL is not set: it names the database to import into.';

/** Few enough that the database writes them well within its time limit. */
const BATCH_MACHINES = 200;

async function copyMachines(from: OpenedStore, to: OpenedStore): Promise<CommandOutcome> {
  if (from.kind !== 'open') return failed(from.message);
  if (to.kind !== 'open') return failed(to.message);
  if (to.warning !== null) return failed(to.warning);
  const there = new Set(to.state.providers.map(({ id }) => id));
  const missing = from.state.providers.filter(({ id }) => !there.has(id));
  const reachable = missing.filter(({ lastHeartbeatIp }) => !isLoopback(lastHeartbeatIp));
  for (let at = 0; at < reachable.length; at += BATCH_MACHINES) {
    const changes = await changesOf(reachable.slice(at, at + BATCH_MACHINES), from);
    const written = await to.store.write(changes);
    if (written.kind === 'unwritten')
      return failed(`${written.message} ${at} machines were imported; run it again for the rest.`);
  }
  const data = {
    imported: reachable.length,
    there: from.state.providers.length - missing.length,
    loopback: missing.length - reachable.length,
  };
  return answer(data, importText(data));
}

async function changesOf(
  machines: readonly StoredProvider[],
  { store, state }: Extract<OpenedStore, { readonly kind: 'open' }>,
): Promise<StoreChange[]> {
  const changes: StoreChange[] = machines.map((provider) => ({ kind: 'provider', provider }));
  for (const { id } of machines) {
    const events = await store.events(id, EVENTS_KEPT);
    changes.push(...events.toReversed().map((event): StoreChange => ({ kind: 'event', event })));
    const name = noteDocument(id);
    const json = state.documents[name];
    if (json !== undefined) changes.push({ kind: 'document', name, json });
  }
  return changes;
}

interface Imported {
  readonly imported: number;
  /** Already in the pool, whose records are kept. */
  readonly there: number;
  readonly loopback: number;
}

function importText({ imported, there, loopback }: Imported): string {
  return [
    `Imported: ${imported} machines. ${FILE} stays as it is, and is no longer read.`,
    ...(there === 0 ? [] : [`Already in the pool: ${there}.`]),
    ...(loopback === 0
      ? []
      : [`Skipped: ${loopback} that reported over loopback; no other gateway could reach them.`]),
  ].join('\n');
}
