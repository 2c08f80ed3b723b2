import { TOKENS } from '../../text/en/nouns.ts';
import { type ReactNode, useState } from 'react';
import { type Condition, isSound } from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { UpstreamTest } from '#shared/live.ts';
import type { Answer } from '../../api/client.ts';
import { formatDuration, counted } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { useWindow } from '../../window-context.ts';

interface TestButtonProps {
  readonly id: UpstreamId;
  readonly className?: string;
  readonly children: ReactNode;
}

export function TestButton({ id, ...button }: TestButtonProps) {
  const { state, run } = useTest(id);
  const isRunning = state?.kind === 'running';
  return (
    <>
      <ControlButton
        {...button}
        title={costHint(id)}
        aria-disabled={isRunning || undefined}
        onClick={() => void (!isRunning && run())}
      />{' '}
      <TestResult state={state} isBrief />
    </>
  );
}

export function costHint(id: UpstreamId): string {
  const { costs } = t.setup.test;
  return id === 'local' || id === 'ondemand'
    ? costs[id]
    : 'Sends one short request, which costs a fraction of a cent.';
}

interface TestResultProps {
  readonly state: TestState | null;
  readonly isBrief?: boolean;
  readonly onAgain?: () => Promise<void>;
}

export function TestResult({ state, isBrief = false, onAgain }: TestResultProps) {
  const words = state === null ? null : testWords(state);
  const hasFailed = state?.kind === 'refused' || (state?.kind === 'ended' && !state.result.ok);
  return (
    <>
      <output className="test-result quiet" data-tone={words?.tone}>
        {words !== null && (
          <>
            <strong>{words.word}</strong> {isBrief ? words.brief : words.detail}
          </>
        )}
      </output>
      {hasFailed && onAgain !== undefined && (
        <p>
          <ControlButton onClick={() => void onAgain()}>{t.setup.again}</ControlButton>
        </p>
      )}
    </>
  );
}

export function useTest(id: UpstreamId) {
  const { actions, data } = useWindow();
  const { testUpstream } = actions;
  const condition = data.judgement.conditions[id];
  // Null before the first test.
  const [state, setState] = useState<TestState | null>(null);
  // The result goes once the state changes, but not with the change that it has caused itself.
  const stands = standingOf(condition);
  const [stood, setStood] = useState(stands);
  if (stood !== stands) {
    setStood(stands);
    if (state?.kind === 'ended' && !isShownBy(state.result, condition)) setState(null);
  }
  return {
    state,
    /** Resolves with true if the upstream has answered. */
    run: async (): Promise<boolean> => {
      setState({ kind: 'running' });
      const answer = await testUpstream(id);
      setState(endOf(answer));
      return answer.ok && answer.value.ok;
    },
    clear: () => setState(null),
  };
}

/** Whether a test that ended so may have led to the condition. */
export const isShownBy = ({ ok }: UpstreamTest, condition: Condition): boolean =>
  condition.kind !== 'untested' && isSound(condition) === ok;

const standingOf = (condition: Condition): string =>
  'reason' in condition ? `${condition.kind} ${condition.reason}` : condition.kind;

export function endOf(answer: Answer<UpstreamTest>): TestState {
  return answer.ok
    ? { kind: 'ended', result: answer.value }
    : { kind: 'refused', message: answer.refusal.message };
}

type TestState =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly result: UpstreamTest }
  /** The gateway refused to run the test. */
  | { readonly kind: 'refused'; readonly message: string };

interface TestWords {
  readonly tone: 'grey' | 'green' | 'amber' | 'red';
  readonly word: string;
  readonly detail: string;
  readonly brief: string;
}

const words = t.setup.test;

export function testWords(state: TestState): TestWords {
  switch (state.kind) {
    case 'running':
      return { tone: 'grey', word: 'Testing…', detail: '', brief: '' };
    case 'refused':
      return { tone: 'red', word: 'Not tested.', detail: state.message, brief: state.message };
    case 'ended':
      return state.result.ok ? passedWords(state.result) : failedWords(state.result);
  }
}

function passedWords(result: Extract<UpstreamTest, { ok: true }>): TestWords {
  const { model, ttftMs, totalMs, promptTokens, completionTokens } = result;
  const took = formatDuration(totalMs);
  if (model === null) {
    const detail = `The key is accepted (${took}). No model is set, so no completion was tried.`;
    return { tone: 'green', word: 'Reachable.', detail, brief: 'No model is set.' };
  }
  const isCounted = promptTokens !== null && completionTokens !== null;
  const tokens = isCounted ? [counted(promptTokens + completionTokens, TOKENS)] : [];
  const first = ttftMs === null ? [] : [`first token ${formatDuration(ttftMs)}`];
  const brief = [took, ...tokens].join(' · ');
  const facts = [`answered in ${took}`, ...first, ...tokens];
  return {
    tone: 'green',
    word: 'Works.',
    detail: `${model === '' ? 'It' : model} ${facts.join(' · ')}`,
    brief,
  };
}

function failedWords({ reason, message }: Extract<UpstreamTest, { ok: false }>): TestWords {
  if (reason === 'starting') return { tone: 'amber', ...words.starting };
  return { tone: 'red', word: `Failed: ${reasonText(reason)}.`, detail: message, brief: message };
}
