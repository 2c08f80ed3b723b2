import { CodeLine } from './ui/code-line.tsx';
import { Logo } from './ui/logo.tsx';

/** Shown instead of the page where the gateway wants a key that a page cannot hold. */
export function Locked({ notice }: { readonly notice: string | null }) {
  return (
    <main className="locked">
      <Logo />
      <h1>Sign in</h1>
      <p>
        This gateway is protected by an API key. Run this on the gateway’s machine to open a window
        with control:
      </p>
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
