import { type CallsGate, createCallsGate } from './calls-splice.ts';
import { beyondText, callsOf, contentOf, type Delta, reasoningOf } from './deltas.ts';
import {
  type Continuation,
  createBlanksGate,
  createContinuingGate,
  createRepeatGate,
  OPEN_GATE,
  SHUT_GATE,
  type TextGate,
} from './text-gates.ts';
import type { Transcript } from './transcript.ts';

/** How the second stream was requested. */
export type SpliceMode =
  /** To continue the partial answer: its text, or its thought. */
  | ({
      readonly kind: 'continued';
      readonly part: 'text' | 'thought';
      readonly heldTokens: number;
    } & Continuation)
  /** The same request again: the answer must begin with what was sent. */
  | { readonly kind: 'repeated' };

/** The second stream is not the same answer. */
export interface Diverged {
  readonly kind: 'diverged';
  readonly detail: string;
}

/** What was not sent before. */
interface NewParts {
  readonly kind: 'new';
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly Delta[];
}

/** Finds what is new in the second stream. */
interface TextSplice {
  /** `isLast`: the chunk has a finish reason. */
  take(delta: Delta, isLast: boolean): NewParts | Diverged;
  /** At the end of the stream: the text that was held back. */
  end(): NewParts | Diverged;
}

const differs = (how: string): Diverged => ({ kind: 'diverged', detail: `the new answer ${how}` });

export function createTextSplice(transcript: Transcript, mode: SpliceMode): TextSplice {
  const { content, reasoning, calls } = gatesFor(transcript, mode);
  const isTextPast = () => content.isPast() && reasoning.isPast();
  const hasCalls = transcript.calls.length > 0;
  let said: 'nothing' | 'thoughts' | 'answer' = 'nothing';

  /** The new thought and text of a delta, or how it differs. */
  function takeTexts(delta: Delta): Pick<NewParts, 'content' | 'reasoning'> | string {
    const wasPast = content.isPast();
    const newReasoning = reasoning.take(reasoningOf(delta));
    const newContent = content.take(contentOf(delta));
    if (newReasoning === null || newContent === null)
      return mode.kind === 'repeated' ? 'differs from what was sent' : 'says again what was sent';
    if (newReasoning !== '' && !wasPast) return 'reasons further than what was sent';
    if (newContent !== '' && !isTextPast()) return 'reasons less than what was sent';
    if (hasCalls && newReasoning + newContent !== '') return 'says more than what was sent';
    return { content: newContent, reasoning: newReasoning };
  }

  function noteKind(delta: Delta): void {
    if (contentOf(delta) !== '' || callsOf(delta).length > 0) said = 'answer';
    else if (reasoningOf(delta) !== '' && said === 'nothing') said = 'thoughts';
  }

  function end(): NewParts | Diverged {
    if (!isTextPast() || !calls.isPast()) return differs('ends before what was sent does');
    // An engine that takes the text for a thought, as SGLang did before sgl-project/sglang#17065.
    if (mode.kind === 'continued' && mode.part === 'text' && said === 'thoughts')
      return differs('reasons instead of going on');
    return { kind: 'new', content: content.release(), reasoning: '', calls: [] };
  }

  return {
    end,
    take(delta, isLast) {
      const beyond = beyondText(delta);
      // The caller was sent strings, and clients cannot append a list to a string.
      if (beyond === 'content_parts') return differs('comes as a list of parts');
      const texts = takeTexts(delta);
      if (typeof texts === 'string') return differs(texts);
      noteKind(delta);
      const isOver = isLast || beyond !== null;
      const pieces = callsOf(delta);
      const isTextOver = isOver || pieces.length > 0;
      if (isTextOver && !isTextPast()) return differs('ends before what was sent does');
      const held = isTextOver ? content.release() : '';
      const newCalls = calls.take(pieces);
      if (newCalls === null) return differs('calls other tools than what was sent');
      const last = isOver ? end() : null;
      if (last?.kind === 'diverged') return last;
      return { kind: 'new', ...texts, content: texts.content + held, calls: newCalls };
    },
  };
}

interface Gates {
  readonly content: TextGate;
  readonly reasoning: TextGate;
  readonly calls: CallsGate;
}

function gatesFor(transcript: Transcript, mode: SpliceMode): Gates {
  if (mode.kind === 'repeated') {
    return {
      content: createRepeatGate(transcript.content),
      reasoning: createRepeatGate(transcript.reasoning),
      calls: createCallsGate(transcript.calls),
    };
  }
  const calls = createCallsGate([]);
  if (mode.part === 'thought')
    return { content: OPEN_GATE, reasoning: createBlanksGate(mode.blanks), calls };
  // Reasoning comes before the text, which has begun.
  return { content: createContinuingGate(mode, transcript.content), reasoning: SHUT_GATE, calls };
}
