import { type ReactNode, type RefObject, useRef } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Provider } from '#shared/provider.ts';
import type { Agent, AgentSeen } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { t } from '../../text/t.ts';
import { StateWord } from '../../ui/state-word.tsx';
import { Unreadable } from '../../ui/unreadable.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { Facts } from '../providers/facts.tsx';
import { ProviderMark } from '../providers/provider-mark.tsx';
import { isSameEngine } from './agent-engine.ts';
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
  isFinal: ({ kind }: AgentSeen) => kind === 'off',
};

interface ThisMachineProps {
  readonly data: LiveData;
  readonly control: boolean;
  /** Whether the address asks to join a gateway. */
  readonly joining: boolean;
  readonly settings: SettingsState;
  readonly frozenAt: number | null;
  readonly serverNow: number;
  readonly agent: Agent;
  readonly saveSettings: Control['saveSettings'];
  /** The machines that this gateway knows. */
  readonly machines: readonly Provider[];
}

/** The gateway's own machine, with its owner's controls. */
export function ThisMachine(props: ThisMachineProps) {
  const last = props.agent.last();
  // An agent stays switched off until the gateway restarts, so there is nothing to read.
  return last?.kind === 'off' ? (
    <SwitchedOff isDemo={props.data.app.demo !== undefined} message={last.message} />
  ) : (
    <WatchedMachine {...props} />
  );
}

/** Shown if the agent is switched off; in the demo it cannot be switched on. */
function SwitchedOff({ isDemo, message }: { readonly isDemo: boolean; readonly message: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  return isDemo ? null : <Frame words={offWords(message)} title={title} />;
}

function WatchedMachine(props: ThisMachineProps) {
  const { data, frozenAt, agent } = props;
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
    return <SwitchedOff isDemo={data.app.demo !== undefined} message={value.message} />;
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
  const { view, data, control, settings, serverNow, agent, saveSettings } = props;
  const { machines, title, onTaken } = props;
  const known = machines.find(({ id }) => id === view.id);
  const { useEngineDirectly } = view;
  const local = data.status.upstreams.find(({ id }) => id === 'local');
  const localUrl = local?.baseUrl ?? null;
  const isDirect = isSameEngine(localUrl, useEngineDirectly);
  return (
    <Frame
      words={agentWords(view, { isDirect, isOwner: control })}
      title={title}
      orders={
        <ModeActions {...{ view, control, onTaken }} setWish={agent.setWish}>
          <JoinGateway {...{ control, onTaken }} isAsked={props.joining} join={agent.join} />
        </ModeActions>
      }
    >
      {useEngineDirectly !== null && (
        <EngineOffer address={useEngineDirectly} {...{ localUrl, control }} onSave={saveSettings} />
      )}
      <OwnProblems view={view} />
      <Facts facts={agentFacts(view, serverNow)} />
      <OwnerRules {...{ view, control, settings }} onSave={saveSettings} />
      <ToolProblems view={view} />
      <Doctor
        {...{ view, control }}
        checks={known?.verification.checks ?? []}
        examine={agent.examine}
      />
    </Frame>
  );
}

interface FrameProps {
  readonly words: AgentWords;
  readonly title: RefObject<HTMLHeadingElement | null>;
  readonly orders?: ReactNode;
  readonly children?: ReactNode;
}

function Frame({ words, title, orders, children }: FrameProps) {
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
        {orders}
      </header>
      {children}
    </section>
  );
}
