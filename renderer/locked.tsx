import { CodeLine } from './ui/code-line.tsx';
import { Logo } from './ui/logo.tsx';

/** Shown instead of the page where the gateway wants a key that a page cannot hold. */
export function Locked({ notice }: { readonly notice: string | null }) {
  return (
    <main className="locked">
      <Logo />
      <h1>This gateway is locked with an API key</h1>
      <p>
        Reading it needs a key or a session. On the machine it runs on, this opens the window with
        one:
      </p>
      <CodeLine text="node scripts/switchyard.mjs open" what="command" />
      {notice !== null && (
        <p className="notice" role="alert">
          {notice}
        </p>
      )}
      <p className="quiet">The page looks again every few seconds.</p>
    </main>
  );
}
