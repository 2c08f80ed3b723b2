import { useId, useState } from 'react';
import { parseJoinLine } from '#shared/join-line.ts';
import { hashOf } from '../../route.ts';
import { Button, ControlButton } from '../../ui/buttons.tsx';
import { ErrorText, Form } from '../../ui/fields.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useWindow } from '../../window-context.ts';
import { joinNoteOf, JoinWarning } from '../providers/join-warning.tsx';

export const JOIN = hashOf({ page: 'providers', filter: 'all', dialog: 'join' });

interface JoinGatewayProps {
  readonly isAsked: boolean;
  readonly onTaken: () => void;
}

export function JoinGateway({ isAsked, onTaken }: JoinGatewayProps) {
  const { control } = useWindow();
  const close = () => void (location.hash = hashOf({ page: 'providers', filter: 'all' }));
  return (
    <>
      <ControlButton onClick={() => void (location.hash = JOIN)}>Join a gateway…</ControlButton>
      {isAsked && control && (
        <Modal title="Join a gateway" onClose={close}>
          <JoinForm
            onJoined={() => {
              close();
              onTaken();
            }}
          />
        </Modal>
      )}
    </>
  );
}

function JoinForm({ onJoined }: { readonly onJoined: () => void }) {
  const { agent } = useWindow();
  const id = useId();
  const [line, setLine] = useState('');
  const [joining, setJoining] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const parsed = parseJoinLine(line);
  // A line that was copied badly may not contain a valid address.
  const address = parsed === null ? null : URL.parse(parsed.url);
  const note = parsed === null ? null : joinNoteOf(parsed.url);

  const submit = async (): Promise<void> => {
    if (joining) return;
    if (address === null) {
      setError('This is not the whole command: copy it again from “Add a machine” on the gateway.');
      return;
    }
    setJoining(true);
    setError(null);
    const refusal = await agent.join(line);
    setJoining(false);
    if (refusal === null) onJoined();
    else setError(refusal.message);
  };

  return (
    <Form className="join-form" onSend={submit}>
      <label htmlFor={id}>Paste the join command from “Add a machine” on the other gateway.</label>
      <textarea
        id={id}
        rows={3}
        autoComplete="off"
        spellCheck={false}
        value={line}
        onChange={({ target }) => {
          setLine(target.value);
          setError(null);
        }}
      />
      {note === 'unencrypted' && <JoinWarning note={note} certain />}
      <Button type="submit" data-primary aria-disabled={joining || undefined}>
        {joining ? 'Joining…' : address === null ? 'Join' : `Join ${address.host}`}
      </Button>
      <ErrorText text={error} />
    </Form>
  );
}
