import type { AgentView, AgentWish } from '#shared/agent.ts';
import { t } from '../../text/t.ts';

/** Something that an owner can ask of the machine now. */
export interface AgentOrder {
  readonly wish: AgentWish;
  readonly word: string;
  readonly done: string;
}

const { orders } = t.thisMachine;
const RESUME: AgentOrder = { wish: 'on', ...orders.on };
const DRAIN: AgentOrder = { wish: 'drained', ...orders.drained };
const PAUSE: AgentOrder = { wish: 'paused', ...orders.paused };

/** Only modes that change something; none while the agent leaves. */
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
