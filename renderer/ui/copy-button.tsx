import { useEffect, useState } from 'react';
import { t } from '../text/t.ts';

interface CopyButtonProps {
  readonly text: string;
  /** What is copied, for the accessible name. */
  readonly what: string;
  /** True if the visible label says what is copied. */
  readonly isNamed?: boolean;
}

const SHOWN_MS = 1_600;
const SPOKEN = { copied: t.shell.copy.copied, refused: t.shell.copy.refusedAloud } as const;

/** Copies text and confirms it in place of its label. */
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
