import { CHECK_MISSING } from '#shared/checks.ts';
import type { Check } from '#shared/provider.ts';
import { t } from '../../text/t.ts';

/** All entries of one check: a network check has one per address. */
export interface CheckGroup {
  readonly name: string;
  /** A check passes if one of its entries does; `missing`: it was never run. */
  readonly outcome: 'passed' | 'failed' | 'missing';
  readonly entries: readonly Check[];
}

/** Groups the entries by check, in their original order. */
export function checkGroups(checks: readonly Check[]): readonly CheckGroup[] {
  const byName = Map.groupBy(checks, ({ name }) => name);
  return [...byName].map(([name, entries]) => ({ name, entries, outcome: outcomeOf(entries) }));
}

function outcomeOf(entries: readonly Check[]): CheckGroup['outcome'] {
  if (entries.some(({ passed }) => passed)) return 'passed';
  return entries.every(({ error }) => error === CHECK_MISSING) ? 'missing' : 'failed';
}

/** Such as `tower:47901`; null for a check without a network call. */
export function addressOf({ detail }: Check): string | null {
  const url = /https?:\/\/([^/\s]+)/.exec(detail ?? '');
  return url?.[1] ?? null;
}

export function checkTodo(name: string): string {
  return t.providers.checks.todo[name] ?? t.providers.checks.otherTodo;
}

/** A check's display name; an unknown check's name is returned unchanged. */
export function checkTitle(name: string): string {
  return t.providers.checks.names[name] ?? name;
}
