import { type ReactNode, type RefObject, useRef } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Provider } from '#shared/provider.ts';
import type { AgentState } from '../../api/agent.ts';
import { t } from '../../text/t.ts';
import { Facts } from '../../ui/facts.tsx';
import { StateWord } from '../../ui/state-word.tsx';
import { Unreadable } from '../../ui/unreadable.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { ProviderMark } from '../providers/provider-mark.tsx';
import { isSameEngine, localUrlOf } from './agent-engine.ts';
import { agentFacts } from './agent-facts.ts';
import { OwnProblems, ToolProblems } from './agent-problems.tsx';
import { agentWords, type AgentWords, offWords } from './agent-status-text.ts';
import { Doctor } from './doctor.tsx';
import { EngineOffer } from './engine-offer.tsx';
import { JoinGateway } from './join-gateway.tsx';
import { ModeActions } from './mode-actions.tsx';
import { OwnerRules } from './owner-rules.tsx';

const READING_OPTIONS = {
  /** Shorter than for the list: GPU, engine and requests of the own machine change faster. */
  longestMs: 5_000,
  isFinal: ({ kind }: AgentState) => kind === 'off',
};

interface ThisMachineProps {
  /** Whether the address asks to join a gateway. */
  readonly joining: boolean;
  readonly serverNow: number;
  /** The machines that this gateway knows. */
  readonly machines: readonly Provider[];
}

/** The gateway's own machine, with its owner's controls. */
export function ThisMachine(props: ThisMachineProps) {
  const last = useWindow().agent.last();
  // An agent stays switched off until the gateway restarts, so there is nothing to read.
  return last?.kind === 'off' ? (
    <SwitchedOff message={last.message} />
  ) : (
    <WatchedMachine {...props} />
  );
}

/** Shown if the agent is switched off; in the demo it cannot be switched on. */
function SwitchedOff({ message }: { readonly message: string }) {
  const isDemo = useWindow().data.app.demo !== undefined;
  const title = useRef<HTMLHeadingElement>(null);
  return isDemo ? null : <Frame words={offWords(message)} title={title} />;
}

function WatchedMachine(props: ThisMachineProps) {
  const { data, frozenAt, agent } = useWindow();
  const revision = data.providers?.revision ?? null;
  const { value, failure, again } = useReading(agent.read, revision, agent.last(), READING_OPTIONS);
  const title = useRef<HTMLHeadingElement>(null);

  if (value === null) {
    return failure === null || frozenAt !== null ? (
      <section className="panel this-machine" aria-busy="true">
        <p className="panel-text">{t.thisMachine.reading}</p>
      </section>
    ) : (
      <Unreadable what={t.thisMachine.title} message={failure.refusal.message} onRetry={again} />
    );
  }
  if (value.kind === 'off') {
    return <SwitchedOff message={value.message} />;
  }
  const { view } = value;
  const onTaken = (): void => {
    title.current?.focus({ preventScroll: true });
    again();
  };
  return <Machine {...props} view={view} title={title} onTaken={onTaken} />;
}

interface MachineProps extends ThisMachineProps {
  readonly view: AgentView;
  readonly title: RefObject<HTMLHeadingElement | null>;
  readonly onTaken: () => void;
}

function Machine(props: MachineProps) {
  const { view, serverNow, machines, title, onTaken } = props;
  const { data, control } = useWindow();
  const known = machines.find(({ id }) => id === view.id);
  const { useEngineDirectly } = view;
  const isDirect = isSameEngine(localUrlOf(data.status), useEngineDirectly);
  return (
    <Frame
      words={agentWords(view, { isDirect, isOwner: control })}
      title={title}
      actions={
        <ModeActions {...{ view, onTaken }}>
          <JoinGateway isAsked={props.joining} onTaken={onTaken} />
        </ModeActions>
      }
    >
      {useEngineDirectly !== null && <EngineOffer address={useEngineDirectly} />}
      <OwnProblems view={view} />
      <Facts facts={agentFacts(view, serverNow)} />
      <OwnerRules view={view} />
      <ToolProblems view={view} />
      <Doctor view={view} checks={known?.verification.checks ?? []} />
    </Frame>
  );
}

interface FrameProps {
  readonly words: AgentWords;
  readonly title: RefObject<HTMLHeadingElement | null>;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

function Frame({ words, title, actions, children }: FrameProps) {
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
            <strong>{what}</strong> {todo}
          </p>
        </div>
        {actions}
      </header>
      {children}
    </section>
  );
}
