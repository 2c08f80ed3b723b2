import { useState } from 'react';
import type { Providers } from '../../api/providers.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { Modal } from '../../ui/modal.tsx';
import { READ_ONLY_NOTE } from '../../ui/read-only-note.tsx';
import { t } from '../../text/t.ts';

interface ProviderOrdersProps {
  readonly id: string;
  readonly name: string;
  readonly control: boolean;
  readonly checking: boolean;
  readonly actions: Pick<Providers, 'verify' | 'remove'>;
  readonly onVerifying: () => void;
  readonly onRemoved: () => void;
}

const words = t.providers.orders;

export function ProviderOrders(props: ProviderOrdersProps) {
  const { id, name, control, checking, actions, onVerifying, onRemoved } = props;
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const describedBy = control ? undefined : READ_ONLY_NOTE;

  const verify = async (): Promise<void> => {
    const refusal = await actions.verify(id);
    setError(refusal?.message ?? null);
    if (!refusal) onVerifying();
  };
  const remove = async (): Promise<void> => {
    const refusal = await actions.remove(id);
    setAsking(false);
    setError(refusal?.message ?? null);
    if (!refusal) onRemoved();
  };

  return (
    <div className="provider-orders">
      <button
        type="button"
        className="button"
        disabled={!control}
        aria-describedby={describedBy}
        aria-disabled={checking || undefined}
        onClick={() => void (checking ? undefined : verify())}
      >
        {checking ? words.verifying : words.verify}
      </button>
      <button
        type="button"
        className="button"
        disabled={!control}
        aria-describedby={describedBy}
        onClick={() => setAsking(true)}
      >
        {words.remove}
      </button>
      <ErrorText text={error} />
      {asking && (
        <Modal
          title={words.removeTitle(name)}
          closing={t.shell.cancel}
          onClose={() => setAsking(false)}
        >
          <p className="modal-text">{words.removeText}</p>
          <button type="button" className="button" data-danger onClick={() => void remove()}>
            {words.removeNow(name)}
          </button>
        </Modal>
      )}
    </div>
  );
}
