import { useState } from 'react';
import type { HostedId } from '#shared/ids.ts';
import type { Control } from '../../api/control.ts';
import { t } from '../../text/t.ts';
import { Modal } from '../../ui/modal.tsx';
import { HostedForm } from '../setup/hosted-form.tsx';

interface ServiceChoiceProps {
  readonly id: HostedId;
  readonly label: string;
  readonly control: boolean;
  readonly actions: Pick<Control, 'saveSettings' | 'testUpstream' | 'listModels'>;
}

/** The way of the first run to set an upstream up: a service, its key, a model from its list, and a test. */
export function ServiceChoice({ id, label, control, actions }: ServiceChoiceProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <p className="service-choice">
      <button type="button" className="button" disabled={!control} onClick={() => setIsOpen(true)}>
        {t.settings.services}
        <span className="unseen">{t.settings.of(label)}</span>
      </button>
      {isOpen && (
        <Modal
          title={t.setup.title(label)}
          closing={t.shell.close}
          onClose={() => setIsOpen(false)}
        >
          <div className="setup-dialog">
            <HostedForm {...{ id, control, actions }} onWorks={() => {}} />
          </div>
        </Modal>
      )}
    </p>
  );
}
