import type { UpstreamTest } from '#shared/live.ts';
import { formatDuration, formatPlural } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';

/** A test as it stands. */
export type TestState =
  | { readonly kind: 'running' }
  | { readonly kind: 'ended'; readonly result: UpstreamTest }
  /** The gateway did not make it. */
  | { readonly kind: 'refused'; readonly message: string };

interface TestWords {
  readonly tone: 'grey' | 'green' | 'red';
  readonly word: string;
  readonly detail: string;
  /** For places as narrow as a card. */
  readonly brief: string;
}

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
  if (model === null) {
    const detail = `The key is accepted (${formatDuration(totalMs)}). No model is set, so no completion was tried.`;
    return { tone: 'green', word: 'Reachable.', detail, brief: 'No model is set.' };
  }
  const tokens =
    promptTokens === null || completionTokens === null
      ? []
      : [formatPlural(promptTokens + completionTokens, 'token')];
  const first = ttftMs === null ? [] : [`first token ${formatDuration(ttftMs)}`];
  const brief = [formatDuration(totalMs), ...tokens].join(' · ');
  const detail = [`answered in ${formatDuration(totalMs)}`, ...first, ...tokens].join(' · ');
  const name = model === '' ? 'It' : model;
  return { tone: 'green', word: 'Works.', detail: `${name} ${detail}`, brief };
}

function failedWords({ reason, message }: Extract<UpstreamTest, { ok: false }>): TestWords {
  return { tone: 'red', word: `Failed: ${reasonText(reason)}.`, detail: message, brief: message };
}
