import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SILENT_MS } from '#shared/pool.ts';
import type { PoolReport, StatusReport } from '#shared/status.ts';
import { openRegistryStore } from '../app/registry-store.ts';
import { type Input, answer, type CommandOutcome, EXIT, failed } from '../cli/command.ts';
import { ask } from '../cli/running-app.ts';
import { loadSavedConfig } from '../config/load.ts';
import { systemClock } from '../platform/clock.ts';
import { claimDataDirectory, takenText } from '../platform/data-lock.ts';
import { silentLog } from '../platform/log.ts';
import { isLoopback } from '../platform/network-guard.ts';
import { noteDocument } from '../registry/owner-notes.ts';
import { type OpenedStore, openStore } from '../registry/store/open-store.ts';
import { EVENTS_KEPT, type StoreChange, type StoredProvider } from '../registry/store/store.ts';

export function pool(input: Input): Promise<CommandOutcome> {
  return input.words[0] === 'status' ? status(input) : importFile(input);
}

/** The gateways that share a database with the running one; exit code 1 while the database does not answer. */
async function status({ dataDirectory }: Input): Promise<CommandOutcome> {
  const asked = await ask<StatusReport>(dataDirectory, { method: 'GET', path: 'status' });
  if (asked.kind === 'failed') return asked;
  const { pool: report } = asked.body;
  if (report === undefined) return failed(ALONE);
  const isConnected = report.database === 'connected';
  return answer(report, poolText(report), isConnected ? EXIT.done : EXIT.failed);
}

const ALONE =
  'This gateway is not in a pool: set INGLENOOK_DATABASE_URL for all gateways of one (docs/guides/pool.md).';

function poolText({ gateway, database, problem, gateways, totals }: PoolReport): string {
  const width = Math.max(0, ...gateways.map(({ host }) => host.length));
  const rows = gateways.map((each) => {
    const seen =
      each.seen_ms < SILENT_MS ? 'here' : `not seen for ${Math.round(each.seen_ms / 1000)} s`;
    const lag = each.behind === 0 ? 'up to date' : `${each.behind} commits behind`;
    const self = each.id === gateway ? '  (this one)' : '';
    const work = `${each.machines} machines, ${each.verified} verified by it, ${each.leases} leases`;
    return `  ${each.host.padEnd(width)}  ${each.version}  ${seen}, ${lag}, ${work}, ${servedText(each)}${self}`;
  });
  const state =
    database === 'connected'
      ? 'The database answers.'
      : (problem ?? 'The database does not answer.');
  return [
    state,
    `Gateways, as of the last answer: ${gateways.length}`,
    ...rows,
    `Together: ${servedText(totals)}`,
  ].join('\n');
}

const servedText = ({ requests, answers, tokens }: PoolReport['totals']) =>
  `${requests} requests, ${answers} answered, ${tokens} tokens`;

const STORE_DEPS = { openStore, clock: systemClock, log: silentLog };
const FILE = 'registry.db';

/** Copies the machines in this gateway's file that its pool does not have yet. */
async function importFile({ env, dataDirectory }: Input): Promise<CommandOutcome> {
  const loaded = loadSavedConfig(env, dataDirectory);
  if (loaded.kind === 'refused') return failed(loaded.problems.join('\n'));
  const path = join(dataDirectory, FILE);
  if (loaded.config.gateway.databaseUrl === null) return failed(NO_POOL);
  if (!existsSync(path)) return failed(`There is no ${path}: there is nothing to import.`);
  const claim = claimDataDirectory(dataDirectory, systemClock.now());
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

const NO_POOL = 'INGLENOOK_DATABASE_URL is not set: it names the database to import into.';

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
