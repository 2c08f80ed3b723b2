import { useState } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import type { UpstreamTest } from '#shared/live.ts';
import { formatDuration } from '../../text/format.ts';
import { plainText } from '../../text/refusal-text.ts';
import { reasonText } from '../../text/reason-text.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { useWindow } from '../../window-context.ts';

/** Makes one real call to the upstream and shows the result. */
export function TestButton({ id, label }: { readonly id: UpstreamId; readonly label: string }) {
  const { state, run } = useTest(id);
  return (
    <>
      <ControlButton
        title={costHint(id)}
        aria-disabled={state?.kind === 'running' || undefined}
        onClick={() => void (state?.kind !== 'running' && run())}
      >
        {t.setup.test.test(label)}
      </ControlButton>
      <TestResult state={state} isBrief />
    </>
  );
}

/** What a test of the upstream does and costs. */
export function costHint(id: UpstreamId): string {
  const { costs } = t.setup.test;
  return id === 'local' || id === 'ondemand' ? costs[id] : costs.hosted;
}

interface TestResultProps {
  readonly state: TestState | null;
  readonly isBrief?: boolean;
}

/** The result of a test, read aloud when it changes; empty before the first test. */
export function TestResult({ state, isBrief = false }: TestResultProps) {
  const words = state === null ? null : testWords(state);
  return (
    <output className="test-result" data-tone={words?.tone}>
      {words !== null && (
        <>
          <strong>{words.word}</strong> {isBrief ? words.brief : words.detail}
        </>
      )}
    </output>
  );
}

export function useTest(id: UpstreamId) {
  const { testUpstream } = useWindow().actions;
  // Null before the first test.
  const [state, setState] = useState<TestState | null>(null);
  return {
    state,
    hasFailed: state?.kind === 'refused' || (state?.kind === 'ended' && !state.result.ok),
    /** Resolves with true if the upstream has answered. */
    run: async (): Promise<boolean> => {
      setState({ kind: 'running' });
      const answer = await testUpstream(id);
      setState(
        answer.ok
          ? { kind: 'ended', result: answer.value }
          : { kind: 'refused', message: answer.refusal.message },
      );
      return answer.ok && answer.value.ok;
    },
    clear: () => setState(null),
  };
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
  /** A short form for narrow places such as a card. */
  readonly brief: string;
}

const words = t.setup.test;

export function testWords(state: TestState): TestWords {
  switch (state.kind) {
    case 'running':
      return { tone: 'grey', word: words.running, detail: '', brief: '' };
    case 'refused':
      return { tone: 'red', word: words.refused, detail: state.message, brief: state.message };
    case 'ended':
      return state.result.ok ? passedWords(state.result) : failedWords(state.result);
  }
}

function passedWords(result: Extract<UpstreamTest, { ok: true }>): TestWords {
  const { model, ttftMs, totalMs, promptTokens, completionTokens } = result;
  if (model === null) {
    const detail = words.reachableDetail(formatDuration(totalMs));
    return { tone: 'green', word: words.reachable, detail, brief: words.noModel };
  }
  const tokens =
    promptTokens === null || completionTokens === null
      ? []
      : [words.tokens(promptTokens + completionTokens)];
  const first = ttftMs === null ? [] : [words.firstToken(formatDuration(ttftMs))];
  const brief = [formatDuration(totalMs), ...tokens].join(' · ');
  const facts = [words.answeredIn(formatDuration(totalMs)), ...first, ...tokens];
  return { tone: 'green', word: words.works, detail: words.detail(model, facts), brief };
}

function failedWords({ reason, message }: Extract<UpstreamTest, { ok: false }>): TestWords {
  if (reason === 'starting') return { tone: 'amber', ...words.starting };
  const why = plainText(message);
  return { tone: 'red', word: words.failed(reasonText(reason)), detail: why, brief: why };
}
