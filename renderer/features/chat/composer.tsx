import { useEffect, type RefObject } from 'react';
import { t } from '../../text/t.ts';

interface ComposerProps {
  readonly input: RefObject<HTMLTextAreaElement | null>;
  readonly draft: string;
  readonly isRunning: boolean;
  readonly onDraft: (draft: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

/** The message field; Enter sends, Shift+Enter starts a new line. */
export function Composer({ input, draft, isRunning, onDraft, onSend, onStop }: ComposerProps) {
  useEffect(() => input.current?.focus(), [input]);
  return (
    <form
      className="composer"
      aria-label={t.chat.message}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <textarea
        ref={input}
        value={draft}
        rows={2}
        aria-label={t.chat.message}
        placeholder={t.chat.message}
        onChange={({ target }) => onDraft(target.value)}
        onKeyDown={(event) => {
          // While an input method is composing, Enter accepts its suggestion.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          onSend();
        }}
      />
      {isRunning ? (
        <button type="button" className="button" onClick={onStop}>
          {t.chat.stop}
        </button>
      ) : (
        <button type="submit" className="button" data-primary disabled={draft.trim() === ''}>
          {t.chat.send}
        </button>
      )}
      <p className="quiet">{t.chat.keys}</p>
    </form>
  );
}
