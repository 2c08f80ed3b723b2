import { CHECK_MISSING, CHECKS } from '#shared/checks.ts';
import type { NoProviderCause } from '#shared/condition.ts';
import type { Check, VerificationProof } from '#shared/provider.ts';
import { type ProviderTable, type TableEntry, verificationStateOf } from './provider-table.ts';
import { statusAt } from './staleness.ts';

/* Whether machines are expected to serve `local`, what they offer together, and why they are not used. */

/** Why no machine serves: none is expected to, all are paused by their owners, or none is verified. */
export function reasonFor(table: ProviderTable): 'not_configured' | 'paused' | 'no_provider' {
  const expected = [...table.all()].filter((entry) => table.isExpected(entry));
  if (expected.length === 0) return 'not_configured';
  return expected.every(({ shown }) => shown?.status === 'paused') ? 'paused' : 'no_provider';
}

/** What the machines that routing may choose now offer together; no `load` if none of their GPUs reports it. */
export function capacityOf(table: ProviderTable) {
  const targets = table.targets();
  const models = new Set(targets.flatMap((target) => target.models));
  const loads = targets.flatMap(({ id }) =>
    (table.get(id)?.shown?.gpu.devices ?? []).flatMap(({ util_gpu }) => util_gpu ?? []),
  );
  const load = {
    lowest: loads.reduce((a, b) => Math.min(a, b), Infinity),
    highest: loads.reduce((a, b) => Math.max(a, b), 0),
  };
  return { serving: targets.length, models: models.size, load: loads.length === 0 ? null : load };
}

/** The nearer to serving, the earlier. */
const NEARNESS = [
  'verifying',
  'loading',
  'paused',
  'engine',
  'no-gpu',
  'failed',
  'silent',
] as const;

/** Why no machine serves: the cause of the one that is nearest to serving; null if none is expected to. */
export function absenceIn(table: ProviderTable): NoProviderCause | null {
  const found = new Set<NoProviderCause>();
  table.survey((entry, silentMs) => {
    if (table.isExpected(entry)) found.add(absenceOf(entry, silentMs));
  });
  return NEARNESS.find((cause) => found.has(cause)) ?? null;
}

function absenceOf(entry: TableEntry, silentMs: number): NoProviderCause {
  const { shown, stored } = entry;
  // It has just been enrolled.
  if (shown === null) return 'verifying';
  switch (statusAt(shown.status, silentMs)) {
    case 'offline':
    case 'stale':
      return 'silent';
    case 'paused':
    case 'draining':
      return 'paused';
    case 'degraded':
      return shown.engine_health.status === 'loading' ? 'loading' : 'engine';
    default:
      if (verificationStateOf(entry) !== 'failed') return 'verifying';
      return lacksGpu(stored.verification.checks) ? 'no-gpu' : 'failed';
  }
}

function lacksGpu(checks: readonly Check[]): boolean {
  return checks.some(({ name, passed, error }) => {
    return name === CHECKS.gpuCount && !passed && error !== CHECK_MISSING;
  });
}

/** Null before the first run. */
export function proofOf(entry: TableEntry | undefined): VerificationProof | null {
  const verification = entry?.stored.verification;
  if (verification === undefined || verification.lastCheckAt === null) return null;
  const { failedRuns, lastCheckAt, lastInferenceAt } = verification;
  return { checkedAt: lastCheckAt, hasFailed: failedRuns > 0, completedAt: lastInferenceAt };
}

/** More would make the error message too long. */
const MAX_NAMED = 3;

/** Why machines are not used, in words that callers may read: of what a machine has sent, only its name. */
export function causesIn(table: ProviderTable, nameOf: (id: string) => string): string {
  const named: string[] = [];
  let others = 0;
  table.survey((entry, silentMs) => {
    if (!table.isExpected(entry)) return;
    if (named.length < MAX_NAMED) named.push(`${nameOf(entry.id)} ${causeOf(entry, silentMs)}`);
    else others += 1;
  });
  return [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}

function causeOf(entry: TableEntry, silentMs: number): string {
  const { shown } = entry;
  if (shown === null) return 'has not reported yet';
  switch (absenceOf(entry, silentMs)) {
    case 'silent':
      return shown.status === 'offline'
        ? 'has signed off'
        : `has been silent for ${Math.round(silentMs / 1000)} s`;
    case 'paused':
      return 'is held back by its owner';
    case 'engine':
      return shown.engine_health.code === 0
        ? 'has no engine that answers'
        : `has an engine that answers HTTP ${shown.engine_health.code}`;
    case 'loading':
      return 'is loading a model';
    case 'verifying':
      return 'is being verified';
    default:
      return failedIn(entry);
  }
}

/** Checks that were not made are not causes. */
function failedIn({ stored }: TableEntry): string {
  const { checks } = stored.verification;
  const names = checks
    .filter(({ passed, error }) => !passed && error !== CHECK_MISSING)
    .map(({ name }) => name)
    .filter((name) => !checks.some((check) => check.passed && check.name === name));
  if (names.length === 0) return 'has failed its verification';
  return `has failed ${[...new Set(names)].map((name) => `"${name}"`).join(', ')}`;
}
