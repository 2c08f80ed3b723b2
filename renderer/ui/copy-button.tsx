import { useEffect, useState } from 'react';
import { t } from '../text/t.ts';

interface CopyButtonProps {
  readonly text: string;
  /** Accessible name: names the thing copied. */
  readonly what: string;
  /** The button itself says what it copies. */
  readonly isNamed?: boolean;
}

const SHOWN_MS = 1_600;
const SPOKEN = { copied: t.shell.copy.copied, refused: t.shell.copy.refusedAloud } as const;

/** Copies a text and says so in the room its own label had. */
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
