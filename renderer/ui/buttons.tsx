import { type ComponentProps, useEffect, useState } from 'react';
import { ALONE } from '../api/inglenook.ts';
import * as t from '../text/t.ts';
import { useWindow } from '../window-context.ts';

/** A button in the window's look; it submits no form unless its type says so. */
export function Button(props: ComponentProps<'button'>) {
  return <button type="button" className="button" {...props} />;
}

/** A button that changes something; without control it is disabled and says why. */
export function ControlButton(props: ComponentProps<'button'>) {
  const { control } = useWindow();
  const describedBy = control ? undefined : READ_ONLY_NOTE;
  return <Button disabled={!control} aria-describedby={describedBy} {...props} />;
}

/** Id of the note, which describes every element that is disabled without control. */
export const READ_ONLY_NOTE = 'read-only-note';

/** Stands at the top of every page: one click signs in if another tab is signed in; otherwise it says how. */
export function ReadOnlyNote({ notice }: { readonly notice: string | null }) {
  const { data, borrowSession } = useWindow();
  const { command, demo } = data.app;
  const how =
    demo === undefined
      ? `Run “${command} open” on this gateway’s machine: it opens the dashboard, signed in.`
      : 'Open the link that the demo has printed; Enter there prints it again.';
  return (
    <p className="notice" id={READ_ONLY_NOTE} aria-live="polite">
      <strong>This page is read-only.</strong> {notice}{' '}
      {notice === ALONE ? how : <Button onClick={() => void borrowSession()}>Sign in</Button>}
    </p>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly what: string;
  /** True if the visible label says what is copied. */
  readonly isNamed?: boolean;
}

const SHOWN_MS = 1_600;
const SPOKEN = {
  copied: t.shell.copy.copied,
  refused: 'The browser did not allow copying: select the text',
} as const;

export function CopyButton({ text, what, isNamed = false }: CopyButtonProps) {
  const [result, setResult] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => {
    if (result === null) return undefined;
    const timer = setTimeout(() => setResult(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [result]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setResult('copied');
    } catch {
      setResult('refused');
    }
  };

  return (
    <>
      <button type="button" className="copy" onClick={() => void copy()}>
        <span aria-hidden="true">
          {isNamed && result === null ? t.shell.copy.of(what) : t.shell.copy[result ?? 'idle']}
        </span>
        <span className="unseen">{t.shell.copy.of(what)}</span>
      </button>
      <output className="unseen">{result === null ? '' : SPOKEN[result]}</output>
    </>
  );
}

export function CodeLine({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div className="code-line">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
