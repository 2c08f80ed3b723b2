import { type ReactNode, useState } from 'react';
import type { AgentView, AgentWish } from '#shared/agent.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useWindow } from '../../window-context.ts';

interface ModeActionsProps {
  readonly view: AgentView;
  /** Called when an order was accepted; its button disappears. */
  readonly onTaken: () => void;
  /** Further buttons. */
  readonly children: ReactNode;
}

export function ModeActions({ view, onTaken, children }: ModeActionsProps) {
  const { agent } = useWindow();
  const [giving, setGiving] = useState(false);
  const [outcome, setOutcome] = useState<{ said: string; error: string | null } | null>(null);
  const note = modeNote(view);

  const give = async ({ wish, done }: ModeAction): Promise<void> => {
    if (giving) return;
    setGiving(true);
    const refusal = await agent.setMode(wish);
    setGiving(false);
    setOutcome({ said: refusal ? '' : done, error: refusal?.message ?? null });
    if (!refusal) onTaken();
  };

  return (
    <div className="agent-orders">
      {modeActions(view).map((order) => (
        <ControlButton
          key={order.wish}
          aria-disabled={giving || undefined}
          onClick={() => void give(order)}
        >
          {order.word}
          <span className="unseen">{t.thisMachine.orders.of}</span>
        </ControlButton>
      ))}
      {children}
      {note !== null && <p className="quiet">{note}</p>}
      <output className="unseen">{outcome?.said ?? ''}</output>
      <ErrorText text={outcome?.error ?? null} />
    </div>
  );
}

/** A mode that the owner can order now. */
interface ModeAction {
  readonly wish: AgentWish;
  readonly word: string;
  readonly done: string;
}

const { orders } = t.thisMachine;
const RESUME: ModeAction = { wish: 'on', ...orders.on };
const DRAIN: ModeAction = { wish: 'drained', ...orders.drained };
const PAUSE: ModeAction = { wish: 'paused', ...orders.paused };

/** The orders that would change something; none while the agent is leaving. */
export function modeActions({ owner: { wish, mode } }: AgentView): readonly ModeAction[] {
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

export function modeNote({ owner: { mode, wish } }: AgentView): string | null {
  if (mode === 'on') return orders.both;
  return mode === 'draining' && wish !== 'paused' ? orders.pause : null;
}
