import { beyondText, contentOf, reasoningOf, type Delta } from './delta.ts';
import {
  createContinuingGate,
  createRepeatGate,
  SHUT_GATE,
  type Asking,
  type TextGate,
} from './text-gate.ts';
import type { Transcript } from './transcript.ts';

/** How the second stream was asked for. */
export type SpliceWay =
  /** To go on from what was sent. */
  | ({ readonly kind: 'continued' } & Asking)
  /** The same request again; the answer must begin with what was sent. */
  | { readonly kind: 'anew' };

/** The second stream is another answer than the one that was begun. */
export interface Diverged {
  readonly kind: 'diverged';
  readonly detail: string;
}

/** Text that the caller has not got yet. */
interface NewText {
  readonly kind: 'new';
  readonly content: string;
  readonly reasoning: string;
}

/** Tells what is new in the text of the second stream. */
export interface TextSplice {
  /** `isLast` with a finish reason. */
  take(delta: Delta, isLast: boolean): NewText | Diverged;
  /** The stream ends: what was held back. */
  end(): NewText | Diverged;
}

const differs = (how: string): Diverged => ({ kind: 'diverged', detail: `the new answer ${how}` });

/** Makes one for the rest of the answer that `transcript` begins. */
export function createTextSplice(transcript: Transcript, way: SpliceWay): TextSplice {
  const { content, reasoning } = gatesFor(transcript, way);
  const isPast = () => content.isPast() && reasoning.isPast();

  function end(): NewText | Diverged {
    if (!isPast()) return differs('ends before what was sent does');
    return { kind: 'new', content: content.release(), reasoning: '' };
  }

  return {
    end,
    take(delta, isLast) {
      const beyond = beyondText(delta);
      // The caller has been sent strings, and a client that joins those cannot join a list to them.
      if (beyond === 'content_parts') return differs('comes as a list of parts');
      const wasPast = content.isPast();
      const newReasoning = reasoning.take(reasoningOf(delta));
      const newContent = content.take(contentOf(delta));
      if (newReasoning === null || newContent === null) {
        const isAnew = way.kind === 'anew';
        return differs(isAnew ? 'differs from what was sent' : 'says again what was sent');
      }
      if (newReasoning !== '' && !wasPast) return differs('reasons further than what was sent');
      if (newContent !== '' && !isPast()) return differs('reasons less than what was sent');
      const isOver = isLast || beyond !== null;
      const last = isOver ? end() : null;
      if (last?.kind === 'diverged') return last;
      return { kind: 'new', content: newContent + (last?.content ?? ''), reasoning: newReasoning };
    },
  };
}

function gatesFor(
  transcript: Transcript,
  way: SpliceWay,
): { readonly content: TextGate; readonly reasoning: TextGate } {
  if (way.kind === 'anew') {
    return {
      content: createRepeatGate(transcript.content),
      reasoning: createRepeatGate(transcript.reasoning),
    };
  }
  // Reasoning comes before the text, and the text is under way.
  return { content: createContinuingGate(way, transcript.content), reasoning: SHUT_GATE };
}
