import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import { withMachineNames } from '#shared/machine-names.ts';
import { isSound } from '#shared/condition.ts';
import { clause, inSentence, prefixOf } from '#shared/services.ts';
import { hashOf } from '../../route.ts';
import { Button } from '../../ui/buttons.tsx';
import { ErrorText, Form } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { fallbackText, feedLabels, type Labels } from '../requests/request-text.ts';

/** One prompt and its answer, gone with the page. `isAimedAt`: the address leads here. */
export function TryIt({ isAimedAt }: { readonly isAimedAt: boolean }) {
  const { data, ask } = useWindow();
  const [prompt, setPrompt] = useState('');
  const [trial, setTrial] = useState<Trial | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const running = useRef<AbortController | null>(null);
  const isRunning = trial?.state === 'waiting';
  useEffect(() => {
    if (isAimedAt) field.current?.focus();
  }, [isAimedAt]);
  useEffect(() => () => running.current?.abort(), []);

  const send = async (model: string | null): Promise<void> => {
    const abort = new AbortController();
    running.current = abort;
    const change = (part: Partial<Trial>) => setTrial((now) => ({ ...(now ?? ASKED), ...part }));
    setTrial(ASKED);
    const listener = {
      onHeaders: (headers: Headers) => change({ headers }),
      onText: (text: string) => setTrial((now) => now && { ...now, text: now.text + text }),
    };
    const error = await ask({ prompt, model }, listener, abort.signal);
    change({ state: abort.signal.aborted ? 'stopped' : 'ended', error });
  };
  const press = () => {
    if (isRunning) running.current?.abort();
    else if (prompt.trim() !== '') void send(null);
  };

  return (
    <section className="panel try-it" aria-labelledby="try-it-title">
      <Form onSend={press} className="row">
        <h2 id="try-it-title">Try it</h2>
        <input
          ref={field}
          aria-label="Prompt"
          placeholder="Why is the sky blue?"
          autoComplete="off"
          value={prompt}
          onChange={({ target }) => setPrompt(target.value)}
        />
        <Button type="submit" data-primary={!isRunning || undefined}>
          {isRunning ? 'Stop' : 'Send'}
        </Button>
      </Form>
      {trial !== null && (
        <Answer {...{ trial }} labels={feedLabels(data)} onAsk={(model) => void send(model)} />
      )}
    </section>
  );
}

interface Trial {
  readonly state: 'waiting' | 'stopped' | 'ended';
  readonly text: string;
  /** Null until the upstream has begun to answer. */
  readonly headers: Headers | null;
  readonly error: string | null;
}

const ASKED: Trial = { state: 'waiting', text: '', headers: null, error: null };

const SILENT: Readonly<Record<Trial['state'], string>> = {
  waiting: 'Waiting for the answer…',
  stopped: 'Stopped.',
  ended: 'The answer was empty.',
};

/** About a line. */
const NEAR_PX = 24;

interface AnswerProps {
  readonly trial: Trial;
  readonly labels: Labels;
  readonly onAsk: (model: string) => void;
}

function Answer({ trial, labels, onAsk }: AnswerProps) {
  const { state, text, headers, error } = trial;
  const id = headers?.get(ANSWER_HEADERS.requestId) ?? null;
  const passed = fallbackText(headers?.get(ANSWER_HEADERS.fallbackReason) ?? 'none', labels);
  return (
    <div className="try-it-answer">
      {text !== '' && <AnswerText text={text} isWhole={state !== 'waiting'} />}
      {text === '' && error === null && <p className="quiet">{SILENT[state]}</p>}
      <ErrorText text={error === null ? null : withMachineNames(error, labels)} />
      {error !== null && text !== '' && <OtherSource {...{ headers, onAsk }} />}
      {headers !== null && (
        <p className="quiet">
          <strong>{answeredBy(headers, labels)}</strong> {passed !== null && `${passed}. `}
          {id !== null && (
            <a href={hashOf({ page: 'requests', filter: 'all', request: id })}>See the request</a>
          )}
        </p>
      )}
    </div>
  );
}

/** Scrolls within a box of its own, which follows the end unless its reader has scrolled away from it. */
function AnswerText({ text, isWhole }: { readonly text: string; readonly isWhole: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    if (follows.current) box.current?.scrollTo(0, box.current.scrollHeight);
  });
  return (
    <div
      ref={box}
      role="log"
      tabIndex={0}
      aria-label="Answer"
      aria-busy={!isWhole}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      }}
    >
      {text}
    </div>
  );
}

/** Why an answer that broke off was not continued, and the source that can be asked instead. */
function OtherSource(props: {
  readonly headers: Headers | null;
  readonly onAsk: (model: string) => void;
}) {
  const { headers, onAsk } = props;
  const { status, judgement } = useWindow().data;
  const from = headers?.get(ANSWER_HEADERS.upstream) ?? '';
  const other = status.upstreams.find(
    ({ id, model }) => id !== from && model !== '' && isSound(judgement.conditions[id]),
  );
  if (other === undefined) return <p>It was not continued: there is no other source.</p>;
  const { id, label, model } = other;
  const isSame = model === headers?.get(ANSWER_HEADERS.model);
  const name = id === 'local' ? model : `${prefixOf(label)}/${model}`;
  return (
    <p>
      {isSame
        ? `${clause(label, 'does not')} continue partial answers. `
        : `It was not continued, because ${inSentence(clause(label, 'has'))} another model. `}
      <Button onClick={() => onAsk(name)}>{`Ask ${inSentence(label)} now`}</Button>
    </p>
  );
}

/** Who answered, from the headers that every app gets. */
function answeredBy(headers: Headers, labels: Labels): string {
  const upstream = headers.get(ANSWER_HEADERS.upstream) ?? 'none';
  const model = headers.get(ANSWER_HEADERS.model);
  return upstream === 'none'
    ? 'No source answered.'
    : `Answered by ${inSentence(labels.get(upstream) ?? upstream)}${model === null ? '' : ` with ${model}`}.`;
}
