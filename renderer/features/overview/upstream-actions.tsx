import { useState, type ReactNode } from 'react';
import type { Refusal } from '../../api/client.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { ControlButton } from '../../ui/read-only-note.tsx';
import { t } from '../../text/t.ts';

/** An action on an upstream. */
interface Order {
  readonly word: string;
  readonly more: string;
  readonly title: string;
  readonly done: string;
  readonly give: () => Promise<Refusal | null>;
}

interface StationOrdersProps {
  readonly label: string;
  readonly control: boolean;
  readonly orders: readonly Order[];
  readonly children: ReactNode;
}

/** The upstream's action buttons; the space stays reserved without any, so that the layout does not shift. */
export function StationOrders({ label, control, orders, children }: StationOrdersProps) {
  const [outcome, setOutcome] = useState<{ said: string; error: string | null } | null>(null);

  const give = async (order: Order, button: HTMLElement): Promise<void> => {
    const name = button.closest('.station')?.querySelector('h3');
    const refusal = await order.give();
    setOutcome({
      said: refusal ? '' : t.overview.line.done(label, order.done),
      error: refusal?.message ?? null,
    });
    // The button disappears on success, so the focus moves to the upstream's name.
    if (!refusal) name?.focus({ preventScroll: true });
  };

  return (
    <div className="orders">
      {orders.map((order) => (
        <ControlButton
          key={order.word}
          control={control}
          title={order.title}
          onClick={({ currentTarget }) => void give(order, currentTarget)}
        >
          {order.word}
          <span className="roomy">{order.more}</span>
          <span className="unseen"> {label}</span>
        </ControlButton>
      ))}
      {children}
      <output className="unseen">{outcome?.said ?? ''}</output>
      <ErrorText text={outcome?.error ?? null} />
    </div>
  );
}
