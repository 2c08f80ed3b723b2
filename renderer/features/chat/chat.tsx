import { lazy, memo, type RefObject, Suspense, useEffect, useId, useRef, useState } from 'react';
import { parseFallbackReason } from '#shared/reasons.ts';
import { firstTokenMsOfRequest, type RequestRow } from '#shared/live.ts';
import { namesMachine, withMachineNames } from '#shared/machine-names.ts';
import type { LiveData } from '../../api/window-state.ts';
import { hashOf } from '../../route.ts';
import { formatCountdown, formatDuration } from '../../text/format.ts';
import { predicateText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { Button, CopyButton } from '../../ui/buttons.tsx';
import { ErrorText, Form } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { namesOf } from '../providers/provider-standing.ts';
import { feedLabels, type Labels, wholeNameOf, whoOf, whyOf } from '../requests/request-text.ts';
import type { Conversation, Turn } from './conversation.ts';

/** A conversation through the gateway, kept only in the page until it is closed. */
export function Chat({ conversation }: { readonly conversation: Conversation }) {
  const { data, now, actions } = useWindow();
  const { turns, model, isRunning } = conversation;
  const { value: models } = useReading(actions.readModels, null, null);
  const input = useRef<HTMLTextAreaElement>(null);
  const labels = feedLabels(data);
  const modelList = useId();
  const rows = new Map(data.requests.map((row) => [row.id, row]));
  const waiting = waitingText(data, { labels, now, userAgent: navigator.userAgent });
  useEndInView(turns);
  const startAfresh = (): void => {
    conversation.clear();
    input.current?.focus();
  };

  return (
    <section className="chat" aria-labelledby="chat-title">
      <header className="row chat-head">
        <h1 id="chat-title">{t.chat.title}</h1>
        <label>
          <span className="quiet">{t.chat.model}</span>
          {/* The browser filters the list as one types. */}
          <input
            list={modelList}
            value={model ?? ''}
            placeholder={t.chat.anyModel}
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => conversation.choose(target.value)}
          />
          <datalist id={modelList}>
            {models?.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </datalist>
        </label>
        <Button hidden={turns.length === 0} disabled={isRunning} onClick={startAfresh}>
          {t.chat.fresh}
        </Button>
      </header>
      <div className="chat-log" role="log" aria-label={t.chat.log} aria-busy={isRunning}>
        {turns.length === 0 && <p className="quiet">{t.chat.empty}</p>}
        {turns.map((turn, at) => (
          <TurnView
            key={turn.askedAt}
            {...{ turn, labels }}
            row={rows.get(turn.route?.requestId ?? '') ?? null}
            onAgain={at === turns.length - 1 && turn.end !== null ? conversation.again : null}
            waiting={turn.end === null && turn.text === '' ? waiting : null}
          />
        ))}
      </div>
      <Composer input={input} conversation={conversation} />
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
      state === 'running' && caller.userAgent && userAgent.startsWith(caller.userAgent),
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

interface ComposerProps {
  readonly input: RefObject<HTMLTextAreaElement | null>;
  readonly conversation: Conversation;
}

function Composer({ input, conversation: { isRunning, send, stop } }: ComposerProps) {
  const [draft, setDraft] = useState('');
  useEffect(() => input.current?.focus(), [input]);
  const onSend = (): void => {
    const question = draft.trim();
    if (question === '' || isRunning) return;
    setDraft('');
    void send(question);
  };
  const onStop = (): void => {
    stop();
    input.current?.focus();
  };
  return (
    <Form className="composer" aria-label={t.chat.message} onSend={onSend}>
      <textarea
        ref={input}
        value={draft}
        rows={2}
        aria-label={t.chat.message}
        placeholder={t.chat.message}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={(event) => {
          // While an input method is composing, Enter accepts its suggestion.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          onSend();
        }}
      />
      {isRunning ? (
        <Button onClick={onStop}>{t.chat.stop}</Button>
      ) : (
        <Button type="submit" data-primary disabled={draft.trim() === ''}>
          {t.chat.send}
        </Button>
      )}
      <p className="quiet">{t.chat.keys}</p>
    </Form>
  );
}

interface TurnViewProps {
  readonly turn: Turn;
  /** The request as the gateway counts it; null while it is not known, or no longer. */
  readonly row: RequestRow | null;
  /** Null for all but the last. */
  readonly onAgain: (() => Promise<void>) | null;
  readonly labels: Labels;
  /** What the answer is waiting for; null once it has begun. */
  readonly waiting: string | null;
}

/** Loaded with the first answer: no other page needs what reads Markdown. */
const Markdown = lazy(async () => ({ default: (await import('./markdown.tsx')).Markdown }));

const TurnView = memo(function TurnView({ turn, row, labels, waiting, onAgain }: TurnViewProps) {
  const { question, text, reasoning, end } = turn;
  return (
    <article className="turn">
      <p className="turn-question">{question}</p>
      {reasoning !== '' && (
        <details className="turn-reasoning quiet">
          <summary>{t.chat.reasoning}</summary>
          <p>{reasoning}</p>
        </details>
      )}
      {text !== '' && (
        <div className="turn-answer">
          <Suspense fallback={<p>{text}</p>}>
            <Markdown text={text} />
          </Suspense>
        </div>
      )}
      {waiting !== null && <p className="quiet">{waiting}</p>}
      {end?.kind === 'failed' && <Failure message={end.message} />}
      {end?.kind === 'stopped' && <p className="quiet">{t.chat.stopped}</p>}
      {end?.kind === 'done' && text === '' && <p className="quiet">{t.chat.emptyAnswer}</p>}
      <Course {...{ turn, row, labels }} />
      {end !== null && (
        <p className="row">
          {text !== '' && <CopyButton text={text} what={t.chat.answerText} isNamed />}
          {onAgain !== null && <Button onClick={() => void onAgain()}>{t.chat.again}</Button>}
        </p>
      )}
    </article>
  );
});

/** Who answered after whom, and how fast; as the gateway saw it, once it has told. */
function Course({ turn, row, labels }: Pick<TurnViewProps, 'turn' | 'row' | 'labels'>) {
  const requestId = turn.route?.requestId ?? null;
  const by = row === null ? routeText(turn, labels) : courseText(row, labels);
  if (by === null) return null;
  return (
    <p className="turn-facts quiet">
      <strong>{by}</strong>
      {turnFacts(turn, row).map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {requestId !== null && (
        <a href={hashOf({ page: 'requests', filter: 'all', request: requestId })}>
          {t.chat.request(requestId)}
        </a>
      )}
    </p>
  );
}

/** The gateway names machines by their ids, as it sends apps nothing that a machine has said; here they have names. */
function Failure({ message }: { readonly message: string }) {
  const { registry } = useWindow();
  const [machines, setMachines] = useState(registry.lastList);
  const isNaming = namesMachine(message);
  useEffect(() => {
    if (!isNaming) return;
    void registry.readList().then((answer) => answer.ok && setMachines(answer.value));
  }, [registry, isNaming]);
  const names = machines === null ? null : namesOf(machines);
  return (
    <>
      <ErrorText text={withMachineNames(message, names ?? NO_NAMES)} />
      {isNaming && (
        <p>
          <a href={hashOf({ page: 'providers', filter: 'all' })}>{t.chat.seeMachines}</a>
        </p>
      )}
    </>
  );
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** An answer shorter than this has no meaningful rate. */
const MIN_RATE_MS = 50;

/** The route that a turn took: `Hosted A: Local was unreachable`. Null before it is known. */
export function routeText({ route }: Pick<Turn, 'route'>, labels: Labels): string | null {
  if (route === null) return null;
  const name = (id: string): string => labels.get(id) ?? id;
  const passed = parseFallbackReason(route.fallbackReason)
    .filter(({ reason }) => reason !== 'not_configured')
    .map(({ upstream, reason }) => t.story.clause(name(upstream), predicateText(reason)));
  return t.chat.route(route.upstream === null ? t.requests.who.none : name(route.upstream), passed);
}

/** The course of a request: `Local, then Hosted A: Local dropped the stream; Hosted A resumed the answer`. */
function courseText(row: RequestRow, labels: Labels): string {
  const why = whyOf(row, labels);
  return t.chat.route(whoOf(row, labels, wholeNameOf), why === null ? [] : [why]);
}

/** Model, tokens, speed and time to first token, as far as known. */
export function turnFacts(turn: Turn, row: RequestRow | null = null): readonly string[] {
  const firstTokenMs = row === null ? null : firstTokenMsOfRequest(row);
  const first = firstTokenMs === null ? null : t.chat.firstToken(formatDuration(firstTokenMs));
  const facts = [turn.model, tokensText(turn, row), rateText(turn), first];
  return facts.filter((fact) => fact !== null);
}

/** As the gateway counted them; until it has, as the upstream reported them, or else one for each piece of text. */
function tokensText({ usage, pieces }: Turn, row: RequestRow | null): string | null {
  if (row !== null && row.tokens !== null) return t.usage.tokens(row.tokens);
  if (usage !== null) return t.usage.tokens({ input: usage.prompt, output: usage.completion });
  return pieces === 0 ? null : t.chat.aboutTokens(pieces);
}

/** Tokens per second from the first to the last; the wait for the first is shown separately. */
function rateText({ firstAt, endedAt, usage, pieces }: Turn): string | null {
  const count = (usage?.completion ?? pieces) - 1;
  if (firstAt === null || endedAt === null || endedAt - firstAt < MIN_RATE_MS) return null;
  return count < 1 ? null : t.usage.rate((1000 * count) / (endedAt - firstAt));
}
