import {
  type ComponentProps,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { Button, ControlButton } from './buttons.tsx';

interface ModalProps {
  readonly title: ReactNode;
  readonly closing?: string;
  readonly nav?: ReactNode;
  readonly onClose: () => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: ReactNode;
}

const FIRST_FIELD = ':is(input, select, textarea):not(:disabled, [readonly])';

/** A modal dialog; Escape, a click outside and its button close it. */
export function Modal(props: ModalProps) {
  const { title, closing = 'Close', nav, onClose, onKeyDown, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
    // A dialog with something to fill in begins there, not at the button that closes it.
    dialog.current?.querySelector<HTMLElement>(FIRST_FIELD)?.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      closedby="any"
      onClose={onClose}
      onKeyDown={onKeyDown}
    >
      <header className="row">
        <h2 id={titleId}>{title}</h2>
        <form method="dialog" className="row">
          {nav}
          <Button type="submit">{closing}</Button>
        </form>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmButtonProps extends Omit<ComponentProps<'button'>, 'onClick'> {
  /** The question, what follows if it is confirmed, and the word that confirms it. */
  readonly asks: string;
  readonly text: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<void>;
}

/** A button that asks before something that cannot be undone. */
export function ConfirmButton({ asks, text, action, onConfirm, ...button }: ConfirmButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const confirm = () => {
    setAsking(false);
    void onConfirm();
  };
  return (
    <>
      <ControlButton {...button} onClick={() => setAsking(true)} />
      {isAsking && (
        <Modal title={asks} closing="Keep it" onClose={() => setAsking(false)}>
          <p className="modal-text">{text}</p>
          <Button data-danger onClick={confirm}>
            {action}
          </Button>
        </Modal>
      )}
    </>
  );
}
