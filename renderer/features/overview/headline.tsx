import { type ReactNode, useState } from 'react';
import type { AgentEngine } from '#shared/agent.ts';
import { clause } from '#shared/services.ts';
import { formatCount, formatCountdown } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { engineHealthText, engineName, plainAddress } from '../this-machine/agent-engine.ts';
import { TestButton } from '../setup/upstream-test.tsx';
import type { AtMachine, HeadlineText, Link, Remedy, Saving } from './headline-text.ts';
import { firstBack, type UpstreamList } from './upstream-list.ts';

interface HeadlineProps {
  readonly headline: HeadlineText;
  readonly list: UpstreamList;
  readonly children: ReactNode;
}

const LINES = 2;
/** The longest name that fits a line of the smallest screen, in characters. */
const SHORT = 18;

export function Headline({ headline, list, children }: HeadlineProps) {
  const { lead, subject, rest, tone, details, problems, isStuck } = headline;
  // Two lines are reserved below the headline, and the last one counts the problems that do not fit. If nobody
  // answers, the owner has to see all of them.
  const shown = problems.length <= LINES || isStuck ? problems.length : LINES - 1;
  const more = problems.length - shown;
  // How long it may take is said of nothing else.
  const isStarting = tone === 'blue';
  // The wait stands in place of the usual time to an answer.
  const isWaiting = list.upstreams.some(({ waits }) => waits !== null);
  return (
    <section className="headline">
      <div>
        <div aria-live="polite">
          <h1>
            {lead}
            <span data-tone={tone} data-short={subject.length < SHORT || undefined}>
              {subject}
            </span>
            {rest}
          </h1>
          {(problems.length === 0 || isStuck || isStarting) &&
            details.slice(isWaiting && !isStarting ? 1 : 0).map((line) => <p key={line}>{line}</p>)}
        </div>
        {isStuck && <Back list={list} />}
        {isWaiting && <Waiting list={list} />}
        <div aria-live="polite">
          {problems.slice(0, shown).map(({ what, todo, remedy }) => (
            <p key={what}>
              <strong>{what}</strong> {todo} {remedy !== null && <RemedyButton remedy={remedy} />}
            </p>
          ))}
          {more > 0 && (
            <p>
              {more === 1
                ? '1 more source needs attention.'
                : `${formatCount(more)} more sources need attention.`}
            </p>
          )}
        </div>
      </div>
      {children}
    </section>
  );
}

/** Stands outside the live regions, because it ticks. */
function Back({ list }: { readonly list: UpstreamList }) {
  const back = firstBack(list);
  if (back === null) return null;
  const { label, remainingMs, isPromised } = back;
  const time = formatCountdown(remainingMs);
  return <p>{clause(label, isPromised ? `is back in ${time}.` : `is tried again in ${time}.`)}</p>;
}

/** Stands outside the live regions as well. Nothing else shows a slow start: the average knows only answers. */
function Waiting({ list }: { readonly list: UpstreamList }) {
  const waits = list.upstreams.flatMap((each) => each.waits ?? []);
  const count = waits.reduce((sum, each) => sum + each.count, 0);
  const oldest = formatCountdown(Math.max(...waits.map(({ oldestMs }) => oldestMs)));
  return (
    <p>
      <strong data-tone="amber">{t.stateDetails.waiting(count, oldest)}.</strong>
    </p>
  );
}

function RemedyButton({ remedy }: { readonly remedy: Remedy }) {
  if ('elsewhere' in remedy) return <MachineRemedy {...remedy} />;
  if ('saves' in remedy) return <SavingButton {...remedy} />;
  return 'check' in remedy ? (
    <TestButton id={remedy.check} className="button remedy">
      Check again
      <span className="unseen"> {remedy.label}</span>
    </TestButton>
  ) : (
    <LinkButton {...remedy} />
  );
}

const LinkButton = ({ hash, word }: Link) => (
  <a className="button remedy" href={hash}>
    {word}
  </a>
);

function MachineRemedy({ cause, elsewhere }: AtMachine) {
  const { agent, data } = useWindow();
  const { value, again } = useReading(agent.read, data.providers.revision, agent.last());
  const { error, attempt } = useAttempt();
  const view = value?.kind === 'on' ? value.view : null;
  if (cause === 'paused' && view !== null && view.owner.mode !== 'on') {
    const resume = async (): Promise<void> => {
      if (await attempt(agent.setMode('on'))) again();
    };
    return (
      <>
        <ControlButton className="button remedy" onClick={() => void resume()}>
          {t.thisMachine.modes.on.word}
          <span className="unseen"> this machine</span>
        </ControlButton>
        <ErrorText text={error} />
      </>
    );
  }
  return (
    <>
      {cause === 'engine' && `${engineText(view?.engine ?? null)} `}
      <LinkButton {...elsewhere} />
    </>
  );
}

const ENGINE_REMEDIES = {
  unreachable: 'Start it.',
  unresponsive: 'Restart it.',
  unauthorized: 'Start it without one.',
  error: 'Check its log.',
};

/** What to do about the engine of this machine; null: it has none. */
function engineText(engine: AgentEngine | null): string {
  const status = engine?.health.status ?? 'ok';
  if (engine === null || status === 'ok') return 'Start the engine.';
  if (status === 'loading') return '';
  const { kind, baseUrl, health } = engine;
  const what = `${engineName(kind)} at ${plainAddress(baseUrl)} ${engineHealthText(health)}.`;
  return `${what} ${ENGINE_REMEDIES[status]}`;
}

function SavingButton({ saves, word, variable }: Saving) {
  const { saveSettings } = useWindow().actions;
  const [refused, setRefused] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    const refusal = await saveSettings(saves);
    const isHeld = refusal?.code === 'set_by_environment';
    setRefused(isHeld ? `Set ${variable} and restart.` : (refusal?.message ?? null));
  };
  return (
    <>
      <ControlButton className="button remedy" onClick={() => void save()}>
        {word}
      </ControlButton>
      <ErrorText text={refused} />
    </>
  );
}
