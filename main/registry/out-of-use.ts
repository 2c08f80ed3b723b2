import { CHECK_MISSING } from '#shared/provider.ts';
import { statusAt } from './liveness.ts';
import { isNotMeant, type TableEntry, verificationStateOf } from './provider-entry.ts';
import type { ProviderTable } from './provider-table.ts';

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
