import { CopyButton } from './copy-button.tsx';

interface CodeLineProps {
  readonly text: string;
  readonly what: string;
}

/** A line for the terminal, with a copy button. */
export function CodeLine({ text, what }: CodeLineProps) {
  return (
    <div className="code-line">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
