import { useState } from 'react';
import * as t from './text/t.ts';
import { Button, CodeLine } from './ui/buttons.tsx';
import { ErrorText, Form, TextField } from './ui/fields.tsx';
import { Logo } from './ui/header.tsx';

interface LockedProps {
  readonly notice: string | null;
  /** Resolves with an error message, or null. */
  readonly onUnlock: (key: string) => Promise<string | null>;
}

export function Locked({ notice, onUnlock }: LockedProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const [key, setKey] = useState('');
  return (
    <main className="locked">
      <Logo />
      <h1>{t.shell.locked.title}</h1>
      <p>{t.shell.locked.text}</p>
      <Form
        className="unlock"
        onSend={async () => key.trim() !== '' && setProblem(await onUnlock(key.trim()))}
      >
        <TextField
          label={t.shell.locked.key}
          type="password"
          required
          value={key}
          onChange={setKey}
        />
        <Button type="submit" data-primary>
          {t.shell.locked.open}
        </Button>
      </Form>
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
