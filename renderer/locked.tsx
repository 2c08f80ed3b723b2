import { type FormEvent, useState } from 'react';
import { CodeLine } from './ui/code-line.tsx';
import { ErrorText } from './ui/error-text.tsx';
import { Logo } from './ui/logo.tsx';

interface LockedProps {
  readonly notice: string | null;
  /** Answers what went wrong, or null. */
  readonly onUnlock: (key: string) => Promise<string | null>;
}

/** Shown instead of the page where the gateway wants a key. */
export function Locked({ notice, onUnlock }: LockedProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get('key');
    if (typeof key === 'string' && key.trim() !== '') setProblem(await onUnlock(key.trim()));
  };
  return (
    <main className="locked">
      <Logo />
      <h1>Sign in</h1>
      <p>This gateway is protected by an API key. With the key this page can read:</p>
      <form className="unlock" onSubmit={(event) => void submit(event)}>
        <label>
          API key
          <input name="key" type="password" autoComplete="off" required />
        </label>
        <button type="submit" className="button" data-primary>
          Open
        </button>
      </form>
      <ErrorText text={problem} />
      <p>To change things as well, run this on the gateway’s machine for a window with control:</p>
      <CodeLine text="switchyard open" what="command" />
      {notice !== null && (
        <p className="notice" role="alert">
          {notice}
        </p>
      )}
      <p className="quiet">Checks again every few seconds.</p>
    </main>
  );
}
