import { type Check, CHECK_MISSING, type CheckName, CHECKS } from '#shared/provider.ts';

/** All entries of one check: a network check has one per address. */
export interface CheckGroup {
  readonly name: string;
  /** A check passes where one of its entries does; `missing` was never run. */
  readonly outcome: 'passed' | 'failed' | 'missing';
  readonly entries: readonly Check[];
}

/** Puts the entries of each check together, in the order in which they came. */
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

const TODO: Readonly<Record<CheckName, string>> = {
  [CHECKS.health]: 'Let port 3001 or 47901 through its firewall.',
  [CHECKS.engineHealth]: 'Start the engine on that machine.',
  [CHECKS.gpuCount]: 'See whether its GPU driver is loaded.',
  [CHECKS.inference]: 'Try its engine on that machine itself; its log says more.',
  [CHECKS.latency]: 'See what keeps the machine busy, or load a smaller model.',
  [CHECKS.model]: 'Restart its agent if the engine has changed its model.',
};

export function checkTodo(name: string): string {
  const todo: Readonly<Record<string, string>> = TODO;
  return todo[name] ?? 'See the machine’s own log.';
}
