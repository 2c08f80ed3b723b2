import { CopyButton } from './copy-button.tsx';

interface CodeLineProps {
  readonly text: string;
  readonly what: string;
}

/** A piece of text for the terminal, with its copy button. */
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
