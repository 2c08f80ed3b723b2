import { CHECK_MISSING } from '#shared/provider.ts';
import { statusAt } from './liveness.ts';
import { isNotMeant, type TableEntry, verificationStateOf } from './provider-entry.ts';
import type { ProviderTable } from './provider-table.ts';

/* How all machines together stand for `local`: whether any is meant to serve, what they offer, and why they do not. */

/** `meant`: some machine is meant to serve; `paused`: all machines are paused by their owners. */
export type Standing = 'none' | 'paused' | 'meant';

/** Whether any machine is meant to serve. */
export function standing(table: ProviderTable): Standing {
  let found: Standing = 'none';
  for (const entry of table.all()) {
    const one = standingOf(entry);
    if (one === 'meant') return one;
    if (one === 'paused') found = one;
  }
  return found;
}

function standingOf(entry: TableEntry): Standing {
  if (isNotMeant(entry)) return 'none';
  return entry.shown?.status === 'paused' ? 'paused' : 'meant';
}

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

/** More of them would make an error message a page. */
const MOST_NAMED = 3;

/** Why machines are not used: their ids, closed words and numbers, and nothing that a machine has said. */
export function causesIn(table: ProviderTable): string {
  const named: string[] = [];
  let others = 0;
  table.survey((entry, silentMs) => {
    if (isNotMeant(entry)) return;
    if (named.length < MOST_NAMED) named.push(`${entry.id} ${causeOf(entry, silentMs)}`);
    else others += 1;
  });
  return [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}

function causeOf(entry: TableEntry, silentMs: number): string {
  const { shown } = entry;
  if (shown === null) return 'has not reported yet';
  switch (statusAt(shown.status, silentMs)) {
    case 'offline':
    case 'stale':
      return shown.status === 'offline'
        ? 'has signed off'
        : `has been silent for ${Math.round(silentMs / 1000)} s`;
    case 'paused':
    case 'draining':
      return 'is paused by its owner';
    case 'degraded':
      return shown.engine_health.code === 0
        ? 'has no engine that answers'
        : `has an engine that answers HTTP ${shown.engine_health.code}`;
    default:
      return verificationStateOf(entry) === 'failed' ? failedIn(entry) : 'is being verified';
  }
}

/** Checks that could not be made are not causes. */
function failedIn({ stored }: TableEntry): string {
  const { checks } = stored.verification;
  const names = checks
    .filter(({ passed, error }) => !passed && error !== CHECK_MISSING)
    .map(({ name }) => name)
    .filter((name) => !checks.some((check) => check.passed && check.name === name));
  if (names.length === 0) return 'has failed its verification';
  return `has failed ${[...new Set(names)].map((name) => `"${name}"`).join(', ')}`;
}
