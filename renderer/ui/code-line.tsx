import { CopyButton } from './copy-button.tsx';

/** A line for the terminal, with a copy button. */
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
