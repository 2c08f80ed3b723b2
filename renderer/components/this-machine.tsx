import { useRef, type ReactNode, type RefObject } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Agent } from '../data/agent.ts';
import type { Control } from '../data/control.ts';
import type { LiveData } from '../data/live-data.ts';
import { useReading } from '../hooks/use-reading.ts';
import { isSameEngine } from '../model/agent-engine.ts';
import { agentFacts } from '../model/agent-facts.ts';
import { agentWords, offWords, type AgentWords } from '../model/agent-words.ts';
import { AgentOrders } from './agent-orders.tsx';
import { OwnProblems, ToolProblems } from './agent-problem-list.tsx';
import { EngineOffer } from './engine-offer.tsx';
import { Facts } from './facts.tsx';
import { ProviderMark } from './provider-mark.tsx';
import { Unreadable } from './unreadable.tsx';

/** GPU, engine and requests of one's own machine change faster than a list of others. */
const LOOK_EVERY_MS = 5_000;

interface ThisMachineProps {
  readonly data: LiveData;
  readonly control: boolean;
  readonly frozenAt: number | null;
  readonly serverNow: number;
  readonly agent: Agent;
  readonly saveSettings: Control['saveSettings'];
}

/** The machine of this gateway, as its owner sees and steers it. */
export function ThisMachine(props: ThisMachineProps) {
  const { data, frozenAt, agent } = props;
  const revision = data.providers?.revision ?? null;
  const last = agent.last();
  // One that is switched off stays so until the gateway starts again: no need to look often.
  const longestMs = last?.kind === 'off' ? undefined : LOOK_EVERY_MS;
  const { value, failure, again } = useReading(agent.read, revision, last, longestMs);
  const title = useRef<HTMLHeadingElement>(null);

  if (value === null) {
    return failure === null || frozenAt !== null ? (
      <section className="panel this-machine" aria-busy="true">
        <p className="panel-text">Reading this machine…</p>
      </section>
    ) : (
      <Unreadable what="This machine" message={failure.refusal.message} onRetry={again} />
    );
  }
  if (value.kind === 'off') {
    // The demo never has an agent, and nobody can change that.
    if (data.app.demo !== undefined) return null;
    return <Frame words={offWords(value.message)} title={title} />;
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
  const { view, data, control, serverNow, agent, saveSettings, title, onTaken } = props;
  const { useEngineDirectly } = view;
  const local = data.status.upstreams.find(({ id }) => id === 'local');
  const localUrl = local?.baseUrl ?? null;
  const isDirect = isSameEngine(localUrl, useEngineDirectly);
  return (
    <Frame
      words={agentWords(view, { isDirect, isOwner: control })}
      title={title}
      orders={<AgentOrders {...{ view, control, onTaken }} setWish={agent.setWish} />}
    >
      {useEngineDirectly !== null && (
        <EngineOffer address={useEngineDirectly} {...{ localUrl, control }} onSave={saveSettings} />
      )}
      <OwnProblems view={view} />
      <Facts facts={agentFacts(view, serverNow)} />
      <ToolProblems view={view} />
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
  const { mark, tone, word, what, todo } = words;
  return (
    <section className="panel this-machine" aria-labelledby="this-machine" data-tone={tone}>
      <header className="agent-head">
        <ProviderMark kind={mark} />
        <div aria-live="polite">
          <h2 id="this-machine" ref={title} tabIndex={-1}>
            This machine <span className="pill">{word}</span>
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
