import type { AgentSeen } from '../../api/agent.ts';
import { t } from '../../text/t.ts';

const words = t.setup.engine;

/** The result of the search for engines on this machine, and what to do next. */
export function engineNote(seen: AgentSeen | null): string {
  if (seen === null) return words.looking;
  if (seen.kind === 'off') return words.off;
  const { engines, useEngineDirectly, record } = seen.view;
  if (engines.length === 0) return words.none;
  if (useEngineDirectly !== null) return words.noGpu;
  return record.gpu.count > 0 ? words.gpu : '';
}
