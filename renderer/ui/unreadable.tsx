import { t } from '../text/t.ts';
import { Button } from './button.tsx';

interface UnreadableProps {
  readonly what: string;
  readonly message: string;
  readonly onRetry: () => void;
}

export function Unreadable({ what, message, onRetry }: UnreadableProps) {
  return (
    <section className="panel empty" role="alert">
      <h2>{t.shell.unreadable(what)}</h2>
      <p>{message}</p>
      <Button onClick={onRetry}>{t.shell.tryAgain}</Button>
    </section>
  );
}
