import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../text/t.ts';
import { Button } from './buttons.tsx';

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
  const { title, closing = t.shell.close, nav, onClose, onKeyDown, children } = props;
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
      <header>
        <h2 id={titleId}>{title}</h2>
        <form method="dialog" className={nav === undefined ? undefined : 'dialog-nav'}>
          {nav}
          <Button type="submit">{closing}</Button>
        </form>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmDialogProps {
  readonly title: string;
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, action, onConfirm, onClose, children }: ConfirmDialogProps) {
  return (
    <Modal title={title} closing={t.shell.cancel} onClose={onClose}>
      <p className="modal-text">{children}</p>
      <Button data-danger onClick={onConfirm}>
        {action}
      </Button>
    </Modal>
  );
}
