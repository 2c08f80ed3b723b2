import { useState } from 'react';
import { HOSTED_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import { t } from '../../text/t.ts';
import { Modal } from '../../ui/modal.tsx';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

interface SetupDialogProps {
  readonly id: UpstreamId;
  readonly label: string;
  readonly agent: Pick<Agent, 'read' | 'last'>;
  readonly revision: number | null;
  readonly localUrl: string | null;
  readonly control: boolean;
  readonly actions: Control;
  readonly onClose: () => void;
}

/** Sets up one upstream that is not configured. */
export function SetupDialog(props: SetupDialogProps) {
  const { id, label: nameNow, onClose, ...shared } = props;
  // Saving changes the upstream's label, but the title must not change while the dialog is open.
  const [label] = useState(nameNow);
  const hosted = HOSTED_IDS.find((each) => each === id);
  const onWorks = (): void => {};
  return (
    <Modal title={t.setup.title(label)} closing={t.shell.close} onClose={onClose}>
      <div className="setup-dialog">
        {hosted === undefined ? (
          <EngineChoice {...shared} onWorks={onWorks} />
        ) : (
          <HostedForm {...shared} id={hosted} onWorks={onWorks} />
        )}
      </div>
    </Modal>
  );
}
