import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../../api/call.ts';
import type { LiveData } from '../../api/live-data.ts';
import { useReading } from '../../ui/use-reading.ts';
import { labelsOf, type Labels } from '../requests/attempt-names.ts';
import { Composer } from './composer.tsx';
import { TurnView } from './turn-view.tsx';
import type { Chatting } from './use-chatting.ts';
import { t } from '../../text/t.ts';
import { formatCountdown } from '../../text/format.ts';

interface ChatProps {
  readonly data: LiveData;
  /** Page time. */
  readonly now: number;
  readonly chatting: Chatting;
  readonly readModels: () => Promise<Answer<readonly string[]>>;
}

/** A conversation through the gateway, kept only in the page until it is closed. */
export function Chat({ data, now, chatting, readModels }: ChatProps) {
  const { turns, model, isRunning } = chatting;
  const { value: models } = useReading(readModels, null, null);
  const [draft, setDraft] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  const labels = labelsOf(data.status.upstreams);
  const waiting = waitingText(data, { labels, now, userAgent: navigator.userAgent });
  useEndInView(turns);

  const send = (): void => {
    const question = draft.trim();
    if (question === '' || isRunning) return;
    setDraft('');
    void chatting.send(question);
  };

  return (
    <section className="chat" aria-labelledby="chat-title">
      <header className="chat-head">
        <h1 id="chat-title">{t.chat.title}</h1>
        <label>
          <span>{t.chat.model}</span>
          <select value={model ?? ''} onChange={({ target }) => chatting.choose(target.value)}>
            <option value="">{t.chat.anyModel}</option>
            {model !== null && !models?.includes(model) && <option>{model}</option>}
            {models?.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          className="button"
          hidden={turns.length === 0}
          disabled={isRunning}
          onClick={() => {
            chatting.clear();
            input.current?.focus();
          }}
        >
          {t.chat.fresh}
        </button>
      </header>
      <div className="chat-log" role="log" aria-label={t.chat.log} aria-busy={isRunning}>
        {turns.length === 0 && <p className="quiet chat-empty">{t.chat.empty}</p>}
        {turns.map((turn) => (
          <TurnView
            key={turn.askedAt}
            {...{ turn, labels }}
            waiting={turn.end === null && turn.text === '' ? waiting : null}
          />
        ))}
      </div>
      <Composer
        {...{ input, draft, isRunning }}
        onDraft={setDraft}
        onSend={send}
        onStop={() => {
          chatting.stop();
          input.current?.focus();
        }}
      />
    </section>
  );
}

/** Scrolls with the answer, unless the user has scrolled up. */
function useEndInView(turns: readonly unknown[]): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const look = (): void => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isAtEnd.current = scrollHeight - clientHeight - scrollTop < 80;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  useEffect(() => {
    if (isAtEnd.current && turns.length > 0) {
      window.scrollTo({ top: document.documentElement.scrollHeight });
    }
  }, [turns]);
}

/** What the question is waiting for: starting a GPU takes minutes, so the page says so. */
function waitingText(
  { requests, status, statusAt }: Pick<LiveData, 'requests' | 'status' | 'statusAt'>,
  { labels, now, userAgent }: { labels: Labels; now: number; userAgent: string },
): string {
  const own = requests.find(
    ({ state, caller }) =>
      // The gateway truncates long user agents.
      state === 'running' && caller?.userAgent && userAgent.startsWith(caller.userAgent),
  );
  const isStarting =
    status.ondemand_warmup === 'warming' &&
    own?.attempts.some(({ upstream, endMs }) => upstream === 'ondemand' && endMs === null);
  if (!isStarting) return t.chat.waiting;
  const { elapsedMs, usualMs } = status.ondemand_warmup_detail;
  return t.chat.startingGpu(
    labels.get('ondemand') ?? 'ondemand',
    elapsedMs === null ? null : formatCountdown(elapsedMs + Math.max(0, now - statusAt)),
    usualMs === null ? null : formatCountdown(usualMs),
  );
}
