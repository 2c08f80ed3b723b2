import { type FormEvent, useState } from 'react';
import { t } from './text/t.ts';
import { Button, CodeLine } from './ui/buttons.tsx';
import { ErrorText } from './ui/fields.tsx';
import { Logo } from './ui/header.tsx';

interface LockedProps {
  readonly notice: string | null;
  /** Resolves with an error message, or null. */
  readonly onUnlock: (key: string) => Promise<string | null>;
}

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
      <h1>{t.shell.locked.title}</h1>
      <p>{t.shell.locked.text}</p>
      <form className="unlock" onSubmit={(event) => void submit(event)}>
        <label>
          {t.shell.locked.key}
          <input name="key" type="password" autoComplete="off" required />
        </label>
        <Button type="submit" data-primary>
          {t.shell.locked.open}
        </Button>
      </form>
      <ErrorText text={problem} />
      <p>{t.shell.locked.control}</p>
      <CodeLine text="switchyard open" what={t.shell.locked.command} />
      {notice !== null && (
        <p className="notice" role="alert">
          {notice}
        </p>
      )}
      <p className="quiet">{t.shell.locked.waits}</p>
    </main>
  );
}
