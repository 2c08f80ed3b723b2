import type { AgentView, AgentWish } from '#shared/agent.ts';

/** Something that an owner can ask of the machine now. */
export interface AgentOrder {
  readonly wish: AgentWish;
  readonly word: string;
  readonly done: string;
}

const RESUME: AgentOrder = { wish: 'on', word: 'Resume', done: 'This machine takes requests.' };
const DRAIN: AgentOrder = {
  wish: 'drained',
  word: 'Drain',
  done: 'This machine takes nothing new; what runs may finish.',
};
const PAUSE: AgentOrder = { wish: 'paused', word: 'Pause', done: 'This machine is paused.' };

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
  if (mode === 'on') return '“Drain” lets what runs finish; “Pause” ends it.';
  return mode === 'draining' && wish !== 'paused' ? '“Pause” ends what still runs.' : null;
}
