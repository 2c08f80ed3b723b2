import type { AgentEngine } from '#shared/agent.ts';
import { ENGINE_NAMES } from '#shared/engines.ts';
import type { StatusReport } from '#shared/status.ts';
import type { AgentState } from '../../api/agent.ts';
import * as t from '../../text/t.ts';

/** An engine's display name; an unknown kind is returned unchanged. */
export const engineName = (kind: string): string => NAMES[kind] ?? kind;

const NAMES: Readonly<Record<string, string>> = ENGINE_NAMES;

export function engineHealthText({ status, code }: AgentEngine['health']): string {
  const { health } = t.thisMachine;
  return status === 'error' ? `fails with HTTP ${code}` : health[status];
}

/** An address for display, without `http://`. */
export const plainAddress = (url: string): string =>
  url.replace(/^http:\/\//, '').replace(/\/+$/, '');

/** The id of this machine; null without an agent. */
export const ownMachine = (seen: AgentState | null): string | null =>
  seen?.kind === 'on' ? seen.view.id : null;

/** The id of this machine if `local` calls its engine directly; null otherwise. */
export function directMachine(
  seen: AgentState | null,
  { upstreams }: Pick<StatusReport, 'upstreams'>,
): string | null {
  if (seen?.kind !== 'on') return null;
  const { id, engine } = seen.view;
  return isSameEngine(localUrlOf({ upstreams }), engine?.baseUrl ?? null) ? id : null;
}

/** The address of the engine of `local`; null while none is set. */
export const localUrlOf = ({ upstreams }: Pick<StatusReport, 'upstreams'>): string | null =>
  upstreams.find(({ id }) => id === 'local')?.baseUrl ?? null;

export function isSameEngine(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return false;
  return bare(one) === bare(other);
}

/** The address without its version, which the gateway adds if it is missing. */
const bare = (url: string): string =>
  url.replace(/\/+$/, '').replace(/\/v1$/, '').replace('://localhost', '://127.0.0.1');
