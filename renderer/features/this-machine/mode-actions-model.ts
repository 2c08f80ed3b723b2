import type { AgentView, AgentWish } from '#shared/agent.ts';
import { t } from '../../text/t.ts';

/** A mode that the owner can order now. */
export interface AgentOrder {
  readonly wish: AgentWish;
  readonly word: string;
  readonly done: string;
}

const { orders } = t.thisMachine;
const RESUME: AgentOrder = { wish: 'on', ...orders.on };
const DRAIN: AgentOrder = { wish: 'drained', ...orders.drained };
const PAUSE: AgentOrder = { wish: 'paused', ...orders.paused };

/** The orders that would change something; none while the agent is leaving. */
export function agentOrders({ owner: { wish, mode } }: AgentView): readonly AgentOrder[] {
  if (mode === 'leaving') return [];
  switch (wish) {
    case 'on':
      return mode === 'on' ? [DRAIN, PAUSE] : [RESUME, PAUSE];
    case 'drained':
      return mode === 'draining' ? [RESUME, PAUSE] : [RESUME];
    case 'paused':
      return [RESUME];
  }
}

export function ordersText({ owner: { mode, wish } }: AgentView): string | null {
  if (mode === 'on') return orders.both;
  return mode === 'draining' && wish !== 'paused' ? orders.pause : null;
}
