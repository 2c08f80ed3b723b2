import type { AgentEngine } from '#shared/agent.ts';
import type { StatusReport } from '#shared/status.ts';
import type { AgentSeen } from '../../api/agent.ts';
import { t } from '../../text/t.ts';

/** An engine by its own name; one that is not on the list stands for itself. */
export function engineName(kind: string): string {
  return t.thisMachine.engines[kind] ?? kind;
}

export function engineHealthText({ status, code }: AgentEngine['health']): string {
  const { health } = t.thisMachine;
  return status === 'error' ? health.error(code) : health[status];
}

/** An address as a person would name it: without a scheme that goes without saying. */
export function plainAddress(url: string): string {
  return url.replace(/^http:\/\//, '').replace(/\/+$/, '');
}

/** The machine whose engine Local asks without the agent; null if that is not this one. */
export function directMachine(
  seen: AgentSeen | null,
  { upstreams }: Pick<StatusReport, 'upstreams'>,
): string | null {
  if (seen?.kind !== 'on') return null;
  const local = upstreams.find(({ id }) => id === 'local');
  const { id, engine } = seen.view;
  return isSameEngine(local?.baseUrl ?? null, engine?.baseUrl ?? null) ? id : null;
}

/** True where both addresses lead to the same engine. */
export function isSameEngine(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return false;
  return bare(one) === bare(other);
}

/** The gateway adds the version itself where an address has none. */
function bare(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1$/, '').replace('://localhost', '://127.0.0.1');
}
