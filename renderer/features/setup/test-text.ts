import type { UpstreamTest } from '#shared/live.ts';
import { formatDuration } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import { t } from '../../text/t.ts';

/** The state of a test. */
export type TestState =
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
  return { tone: 'red', word: words.failed(reasonText(reason)), detail: message, brief: message };
}
