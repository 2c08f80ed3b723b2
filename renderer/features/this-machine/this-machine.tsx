import { NOTES } from '../../text/en/nouns.ts';
import { counted } from '../../text/format.ts';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import type { AgentProblem, AgentView, OwnerChoice } from '#shared/agent.ts';
import type { Provider } from '#shared/provider.ts';
import type { AgentState } from '../../api/agent.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { Facts, StateWord, Unreadable } from '../../ui/facts.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useServerNow, useWindow } from '../../window-context.ts';
import { GpuList } from '../providers/gpu-list.tsx';
import { ProviderMark } from '../providers/provider-mark.tsx';
import { isSameEngine, localUrlOf, plainAddress } from './agent-engine.ts';
import { agentFacts, type AgentWords, agentWords, offWords } from './agent-text.ts';
import { JoinGateway } from './join-gateway.tsx';
import { ModelsHere } from './models-here.tsx';
import { OwnerRules } from './owner-rules.tsx';
import { hashOf } from '../../route.ts';

const READING_OPTIONS = {
  /** Shorter than for the list, because GPU, engine and requests of the own machine change faster. */
  longestMs: 5_000,
  isFinal: ({ kind }: AgentState) => kind === 'off',
};

interface ThisMachineProps {
  readonly joining: boolean;
  /** What this gateway lists of it; null if it has no page about it. */
  readonly listed: Provider | null;
}

export function ThisMachine(props: ThisMachineProps) {
  const { data, frozenAt, agent } = useWindow();
  const revision = data.providers.revision;
  const { value, failure, again } = useReading(agent.read, revision, agent.last(), READING_OPTIONS);
  if (value?.kind === 'on') return <Machine {...props} again={again} view={value.view} />;
  if (value !== null) {
    // In the demo it cannot be switched on.
    return data.app.demo === undefined && <Frame words={offWords(value.message)} />;
  }
  return failure === null || frozenAt !== null ? (
    <section className="panel this-machine" aria-busy="true">
      <p className="panel-text">Reading this machine…</p>
    </section>
  ) : (
    <Unreadable what={t.thisMachine.title} message={failure.refusal.message} onRetry={again} />
  );
}

interface MachineProps extends ThisMachineProps {
  readonly view: AgentView;
  readonly again: () => void;
}

function Machine({ view, joining, listed, again }: MachineProps) {
  const { data, control } = useWindow();
  const serverNow = useServerNow();
  const title = useRef<HTMLHeadingElement>(null);
  const { useEngineDirectly } = view;
  const { own, tools } = agentProblems(view);
  const isDirect = isSameEngine(localUrlOf(data.status), view.engine?.baseUrl ?? null);
  const onTaken = (): void => {
    title.current?.focus({ preventScroll: true });
    again();
  };
  return (
    <Frame
      words={agentWords(view, { isDirect, listed, isOwner: control, nowMs: serverNow })}
      title={title}
      page={listed !== null ? hashOf({ page: 'provider', id: view.id }) : undefined}
      actions={
        <ModeActions {...{ view, onTaken }} isDirect={isDirect && useEngineDirectly !== null}>
          <JoinGateway isAsked={joining} onTaken={onTaken} />
        </ModeActions>
      }
    >
      {useEngineDirectly !== null && <EngineOffer address={useEngineDirectly} />}
      <Problems problems={own} />
      <Facts facts={agentFacts(view, serverNow)} />
      {view.record.gpu.devices.length > 0 && <GpuList gpu={view.record.gpu} />}
      <ModelsHere {...{ view, serverNow, onTaken }} />
      <OwnerRules view={view} />
      {tools.length > 0 && (
        <details className="agent-tools">
          <summary>{`${counted(tools.length, NOTES)} about engines and GPU drivers`}</summary>
          <Problems problems={tools} />
        </details>
      )}
    </Frame>
  );
}

interface FrameProps {
  readonly words: AgentWords;
  readonly title?: RefObject<HTMLHeadingElement | null>;
  readonly page?: string | undefined;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

function Frame({ words, title, page, actions, children }: FrameProps) {
  const { mark, tone, word, means, what, todo } = words;
  return (
    <section className="panel this-machine" aria-labelledby="this-machine" data-tone={tone}>
      <header className="agent-head">
        <ProviderMark kind={mark} />
        <div aria-live="polite">
          <h2 id="this-machine" ref={title} tabIndex={-1}>
            {t.thisMachine.title} <StateWord {...{ word, means }} />
          </h2>
          <p className="agent-says">
            <strong>{what}</strong> {todo}{' '}
            {page !== undefined && <a href={page}>See its tests and history.</a>}
          </p>
        </div>
        {actions}
      </header>
      {children}
    </section>
  );
}

interface ModeActionsProps {
  readonly view: AgentView;
  readonly isDirect: boolean;
  readonly onTaken: () => void;
  readonly children: ReactNode;
}

/** `onTaken` is called when a mode was accepted; its button disappears. */
function ModeActions({ view, isDirect, onTaken, children }: ModeActionsProps) {
  const { agent } = useWindow();
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const { error, attempt } = useAttempt();
  const actions = modeActions(view, isDirect);
  const note = actions.includes(PAUSE) ? modeNote(view) : null;

  const choose = async ({ choice, done }: ModeAction): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    const isDone = await attempt(agent.setMode(choice));
    setBusy(false);
    setSaid(isDone ? done : '');
    if (isDone) onTaken();
  };

  return (
    <div className="row machine-actions mode-actions">
      {actions.map((action) => (
        <ControlButton
          key={action.choice}
          aria-disabled={isBusy || undefined}
          onClick={() => void choose(action)}
        >
          {action.word}
          <span className="unseen">{' this machine'}</span>
        </ControlButton>
      ))}
      {children}
      {note !== null && <p className="quiet">{note}</p>}
      <output className="unseen">{said}</output>
      <ErrorText text={error} />
    </div>
  );
}

interface ModeAction {
  readonly choice: OwnerChoice;
  readonly word: string;
  readonly done: string;
}

const { modes } = t.thisMachine;
const RESUME: ModeAction = { choice: 'on', ...modes.on };
const DRAIN: ModeAction = { choice: 'drained', ...modes.drained };
const PAUSE: ModeAction = { choice: 'paused', ...modes.paused };

/** The modes that would change something; none while the agent is leaving. Requests that go to its engine directly pass it by. */
export function modeActions(
  { owner: { choice, mode, freed }, memory, engine }: AgentView,
  isDirect: boolean,
): readonly ModeAction[] {
  if (mode === 'leaving' || (isDirect && mode === 'on')) return [];
  const isChanging = memory.state === 'loading' || memory.state === 'unloading';
  // It serves again by itself once its models have changed.
  if (choice === 'on' && freed === null && isChanging) return [PAUSE];
  switch (choice) {
    case 'on':
      if (mode !== 'on') return [RESUME, PAUSE];
      return engine?.health.status === 'ok' ? [DRAIN, PAUSE] : [PAUSE];
    case 'drained':
      return mode === 'draining' ? [RESUME, PAUSE] : [RESUME];
    case 'paused':
      return [RESUME];
  }
}

export function modeNote({ owner: { mode, choice }, engine }: AgentView): string | null {
  const canEndRequests =
    (mode === 'on' && engine?.health.status === 'ok') ||
    (mode === 'draining' && choice !== 'paused');
  return canEndRequests ? 'Holding it back ends running requests.' : null;
}

function Problems({ problems }: { readonly problems: readonly AgentProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className="agent-problems">
      {problems.map(({ tool, tried, happened, remedy }) => (
        <li key={`${tool} ${tried} ${happened}`}>
          <strong>{sentence(happened)}</strong> {sentence(remedy)}
          <span className="agent-tried quiet">{`${tool}: ${tried}`}</span>
        </li>
      ))}
    </ul>
  );
}

const OWN_PARTS = new Set(['agent', 'registry', 'engine', 'clock', 'saved files']);

/**
 * Separates the problems of the agent's own parts, which prevent requests, from those of drivers and their tools, with
 * which the machine may serve.
 */
export function agentProblems({ problems }: Pick<AgentView, 'problems'>) {
  const own = problems.filter(({ tool }) => OWN_PARTS.has(tool));
  return { own, tools: problems.filter((problem) => !own.includes(problem)) };
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  const whole = /[.!?…]$/.test(trimmed) || trimmed === '' ? trimmed : `${trimmed}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

function EngineOffer({ address }: { readonly address: string }) {
  const { data, actions } = useWindow();
  const localUrl = localUrlOf(data.status);
  const place = useRef<HTMLDivElement>(null);
  const { error, attempt } = useAttempt();

  const put = async (): Promise<void> => {
    // The button disappears once the gateway reports the change.
    if (await attempt(actions.saveSettings({ local: { baseUrl: address } })))
      place.current?.focus();
  };

  return (
    <div className="row agent-offer" ref={place} tabIndex={-1}>
      {isSameEngine(localUrl, address) ? (
        <p>
          Requests go to it now (see the <a href={hashOf({ page: 'overview' })}>Overview</a>).
          Freeing its memory stops that, and so does clearing the address in{' '}
          <a href={hashOf({ page: 'settings', section: 'local' })}>Settings</a>.
        </p>
      ) : (
        <>
          <p>
            This gateway can call the engine at <code>{plainAddress(address)}</code> without the
            agent.
            {localUrl !== null && (
              <>
                {' '}
                Requests then no longer go to <code>{plainAddress(localUrl)}</code>.
              </>
            )}
          </p>
          <ControlButton data-primary onClick={() => void put()}>
            Use this engine
          </ControlButton>
        </>
      )}
      <ErrorText text={error} />
    </div>
  );
}
