import { useState } from 'react';
import type { AgentEngine } from '#shared/agent.ts';
import { type Condition, passingIn } from '#shared/condition.ts';
import type { AgentState } from '../../api/agent.ts';
import { completeBaseUrl } from '../../text/address.ts';
import { Button, CodeLine, ControlButton } from '../../ui/buttons.tsx';
import { ErrorText, Form, TextField } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import {
  engineHealthText,
  engineName,
  isSameEngine,
  localUrlOf,
  plainAddress,
} from '../this-machine/agent-engine.ts';
import { TestResult, useTest } from './upstream-test.tsx';

const READING_OPTIONS = {
  /** Is short, because each reading makes the agent look for the engine that the user may be starting. */
  longestMs: 1_000,
  isFinal: ({ kind }: AgentState) => kind === 'off',
};

export function EngineChoice({ onWorks }: { readonly onWorks?: (() => void) | undefined }) {
  const { data, agent, control, actions } = useWindow();
  const localUrl = localUrlOf(data.status);
  const revision = data.providers.revision;
  const { value } = useReading(agent.read, revision, agent.last(), READING_OPTIONS);
  const [address, setAddress] = useState('');
  const { error, attempt } = useAttempt();
  const test = useTest('local');
  const engines = value?.kind === 'on' ? value.view.engines : [];
  const ownUrl = value?.kind === 'on' ? (value.view.engine?.baseUrl ?? null) : null;
  // Without an address, `local` is served by the engine that this machine's agent has found.
  const isServing = data.judgement.conditions.local.kind === 'closed';
  const usedUrl = localUrl ?? (isServing ? ownUrl : null);
  // A machine with a GPU is tested by itself. A button would only pin the engine's address.
  const isTested = !isServing && value?.kind === 'on' && value.view.useEngineDirectly === null;

  const put = async (baseUrl: string): Promise<void> => {
    test.clear();
    const isSaved = await attempt(actions.saveSettings({ local: { baseUrl } }));
    if (isSaved && (await test.run())) onWorks?.();
  };

  return (
    <div className="setup-form">
      {engines.length > 0 && (
        <ul className="setup-engines">
          {engines.map((engine) => (
            <EngineRow
              key={engine.baseUrl}
              engine={engine}
              state={isSameEngine(usedUrl, engine.baseUrl) ? 'used' : isTested ? 'tested' : 'free'}
              onUse={() => void put(engine.baseUrl)}
            />
          ))}
        </ul>
      )}
      <EngineNote seen={currentOf(value, data.judgement.conditions.local)} />
      <Form
        className="setup-address"
        aria-label="Engine address"
        onSend={() => put(completeBaseUrl(address))}
      >
        <TextField
          label={engines.length > 0 ? 'Or another address' : 'Engine address'}
          value={address}
          placeholder="127.0.0.1:11434"
          inputMode="url"
          disabled={!control}
          onChange={setAddress}
        />
        <Button type="submit" disabled={!control || address.trim() === ''}>
          Use<span className="unseen"> this address</span>
        </Button>
      </Form>
      <TestResult state={test.state} />
      <ErrorText text={error} />
    </div>
  );
}

function EngineRow(props: {
  readonly engine: AgentEngine;
  readonly state: 'used' | 'tested' | 'free';
  readonly onUse: () => void;
}) {
  const { engine, state, onUse } = props;
  const { kind, baseUrl, health, models, currentModel } = engine;
  const model = currentModel ?? models[0];
  const facts = [plainAddress(baseUrl), model, engineHealthText(health)];
  return (
    <li className="row">
      <div>
        <strong>{engineName(kind)}</strong>
        <p className="quiet">{facts.filter((fact) => fact !== undefined).join(' · ')}</p>
      </div>
      {state === 'free' ? (
        <ControlButton data-primary onClick={onUse}>
          Use this engine<span className="unseen">: {engineName(kind)}</span>
        </ControlButton>
      ) : (
        <span className="quiet">
          {state === 'used' ? 'In use' : health.status === 'ok' && 'Testing it…'}
        </span>
      )}
    </li>
  );
}

function EngineNote({ seen }: { readonly seen: AgentState | null }) {
  const isNone = seen?.kind === 'on' && seen.view.engines.length === 0;
  return (
    <>
      <p className="quiet">{engineNote(seen)}</p>
      {isNone && <CodeLine text="ollama pull qwen3:8b" what="command" />}
    </>
  );
}

/** A machine that is being tested has an engine, which a reading without one has not found yet. */
export function currentOf(seen: AgentState | null, local: Condition): AgentState | null {
  const isOld = seen?.kind === 'on' && seen.view.engines.length === 0 && passingIn(local) !== null;
  return isOld ? null : seen;
}

export function engineNote(seen: AgentState | null): string {
  if (seen === null) return 'Looking for engines…';
  if (seen.kind === 'off')
    return 'This machine’s agent is switched off, so engines here are not detected.';
  const { engines, useEngineDirectly, record } = seen.view;
  if (engines.length === 0) {
    const gpus = record.gpu.devices;
    const found = gpus.length === 1 ? `${gpus[0]?.name} found` : `${gpus.length} GPUs found`;
    const here = gpus.length === 0 ? 'No engine found yet.' : `${found}, but no engine yet.`;
    return `${here} Start Ollama, LM Studio, llama.cpp or vLLM, and it appears here within seconds. If you have none, install Ollama from ollama.com and run:`;
  }
  return useEngineDirectly === null
    ? ''
    : 'No GPU was found, so this machine is not added to Machines. Its engine can still answer.';
}
