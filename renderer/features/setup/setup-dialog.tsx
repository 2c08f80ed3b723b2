import { useState } from 'react';
import { HOSTED_IDS, type UpstreamId } from '#shared/ids.ts';
import { Modal } from '../../ui/modal.tsx';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

interface SetupDialogProps {
  readonly id: UpstreamId;
  readonly label: string;
  readonly onClose: () => void;
}

export function SetupDialog({ id, label: nameNow, onClose }: SetupDialogProps) {
  // Saving changes the upstream's label, but the title must not change while the dialog is open.
  const [label] = useState(nameNow);
  const hosted = HOSTED_IDS.find((each) => each === id);
  return (
    <Modal title={`Set up ${label}`} onClose={onClose}>
      <div className="setup-dialog">
        {hosted === undefined ? <EngineChoice /> : <HostedForm id={hosted} />}
      </div>
    </Modal>
  );
}
