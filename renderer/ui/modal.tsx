import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Button } from './button.tsx';

interface ModalProps {
  readonly title: string;
  readonly closing: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A modal dialog; Escape, a click outside and its button close it. */
export function Modal({ title, closing, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      closedby="any"
      onClose={onClose}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <form method="dialog">
          <Button type="submit">{closing}</Button>
        </form>
      </header>
      {children}
    </dialog>
  );
}
