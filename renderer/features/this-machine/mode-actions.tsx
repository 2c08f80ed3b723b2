import { useState, type ReactNode } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Agent } from '../../api/agent.ts';
import { agentOrders, ordersText, type AgentOrder } from './mode-actions-model.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { ControlButton } from '../../ui/read-only-note.tsx';
import { t } from '../../text/t.ts';

interface AgentOrdersProps {
  readonly view: AgentView;
  readonly control: boolean;
  readonly setWish: Agent['setWish'];
  /** Called when an order was accepted; its button disappears. */
  readonly onTaken: () => void;
  /** Further buttons. */
  readonly children: ReactNode;
}

export function AgentOrders({ view, control, setWish, onTaken, children }: AgentOrdersProps) {
  const [giving, setGiving] = useState(false);
  const [outcome, setOutcome] = useState<{ said: string; error: string | null } | null>(null);
  const note = ordersText(view);

  const give = async ({ wish, done }: AgentOrder): Promise<void> => {
    if (giving) return;
    setGiving(true);
    const refusal = await setWish(wish);
    setGiving(false);
    setOutcome({ said: refusal ? '' : done, error: refusal?.message ?? null });
    if (!refusal) onTaken();
  };

  return (
    <div className="agent-orders">
      {agentOrders(view).map((order) => (
        <ControlButton
          key={order.wish}
          control={control}
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
