import { beyondText, contentOf, type Delta, reasoningOf, type Transcript } from './transcript.ts';

/** How the second stream was asked for. */
export type SpliceWay =
  /** To go on from what was sent; `echo` is the text that it may say again first, null if it will not. */
  | { readonly kind: 'continued'; readonly echo: string | null }
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
interface TextSplice {
  /** `isLast` with a finish reason. */
  take(delta: Delta, isLast: boolean): NewText | Diverged;
  /** The stream ends: what was held back. */
  end(): NewText | Diverged;
  /** All that has to be repeated was: it can no longer differ. */
  isPast(): boolean;
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
    isPast,
    end,
    take(delta, isLast) {
      const beyond = beyondText(delta);
      // The caller has been sent strings, and a client that joins those cannot join a list to them.
      if (beyond === 'content_parts') return differs('comes as a list of parts');
      const wasPast = content.isPast();
      const newReasoning = reasoning.take(reasoningOf(delta));
      const newContent = content.take(contentOf(delta));
      if (newReasoning === null || newContent === null)
        return differs('differs from what was sent');
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
  const content = way.echo === null ? OPEN_GATE : createEchoGate(way.echo);
  return { content, reasoning: SHUT_GATE };
}

/** Decides which part of the second stream's text the caller has not got yet. */
interface TextGate {
  /** The part of `text` that goes on to the caller; null where it is not what was sent. */
  take(text: string): string | null;
  /** Whether all that has to be repeated was. */
  isPast(): boolean;
  /** Takes out what is held back: no more text will come. */
  release(): string;
}

/** An echo of a shorter text would be too like a chance beginning ("The ", again). */
const MIN_ECHO_CHARS = 16;

/** Lets all text through. */
const OPEN_GATE: TextGate = { take: (text) => text, isPast: () => true, release: () => '' };

/** Lets no text through. */
const SHUT_GATE: TextGate = { ...OPEN_GATE, take: () => '' };

/** Swallows a text that repeats `sent` to its end; what differs is turned away. */
function createRepeatGate(sent: string): TextGate {
  let at = 0;
  return {
    take(text) {
      const expected = sent.slice(at, at + text.length);
      if (!text.startsWith(expected)) return null;
      at += expected.length;
      return text.slice(expected.length);
    },
    isPast: () => at === sent.length,
    release: () => '',
  };
}

/** Swallows an echo of `asked`. A text that only begins like one comes out whole, if later. */
function createEchoGate(asked: string): TextGate {
  if (asked.length < MIN_ECHO_CHARS) return OPEN_GATE;
  /** So much of `asked` is held back; null once it is decided. */
  let held: number | null = 0;

  function release(): string {
    const text = asked.slice(0, held ?? 0);
    held = null;
    return text;
  }

  return {
    take(text) {
      if (held === null) return text;
      const expected = asked.slice(held, held + text.length);
      if (!text.startsWith(expected)) return release() + text;
      held += expected.length;
      if (held < asked.length) return '';
      held = null;
      return text.slice(expected.length);
    },
    isPast: () => true,
    release,
  };
}
