import type { Echo } from '../../upstream/upstreams.ts';
import { beyondText, contentOf, type Delta, reasoningOf, type Transcript } from './transcript.ts';

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
interface TextSplice {
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

/** Decides which part of the second stream's text the caller has not got yet. */
interface TextGate {
  /** The part of `text` that goes on to the caller; null where the answer cannot go on with it. */
  take(text: string): string | null;
  /** Whether all that has to be repeated was. */
  isPast(): boolean;
  /** Takes out what is held back: no more text will come. */
  release(): string;
}

/** A shorter text may come in one piece by chance: as one token that is said twice. */
const MIN_ECHO_CHARS = 16;

/** Lets no text through. */
const SHUT_GATE: TextGate = { take: () => '', isPast: () => true, release: () => '' };

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

/** What was asked to be gone on from, and how the answer to that begins. */
interface Asking {
  readonly asked: string;
  /** The blanks that the caller has after it. */
  readonly seam: string;
  readonly echo: Echo;
}

/**
 * Lets through what goes on from `asked` and the seam. `sent` is the answer that the caller has; where that
 * began with words of the caller's own it is less than `asked`, and may be begun anew by itself.
 */
function createContinuingGate({ asked, seam, echo }: Asking, sent: string): TextGate {
  const blanks = createSeamGate(seam);
  if (echo === 'never') return blanks;
  const texts = new Set([asked, sent.trimEnd() || asked]);
  return [...texts]
    .map((text) => createEchoGate(text, echo === 'always'))
    .reduceRight(behind, blanks);
}

/** What `first` lets through goes through `next`. */
function behind(next: TextGate, first: TextGate): TextGate {
  return {
    take(text) {
      const rest = first.take(text);
      return rest === null ? null : next.take(rest);
    },
    isPast: () => true,
    release: () => (next.take(first.release()) ?? '') + next.release(),
  };
}

/**
 * Swallows an echo of `asked`: the very first piece, which is all of it. Equal text that comes otherwise is no
 * proof of one. It is either the answer begun anew, which must not go on, or an answer that repeats itself;
 * only of a text that has done so before is that believed. What only begins alike comes out whole, if later.
 */
function createEchoGate(asked: string, isExpected: boolean): TextGate {
  /** So much of `asked` is held back; null once it is decided. */
  let held: number | null = 0;

  function release(): string {
    const text = asked.slice(0, held ?? 0);
    held = null;
    return text;
  }

  function wholeAgain(text: string): string | null {
    const before = release();
    const isOnePiece = before === '' && text === asked;
    const repeatsItself = isPeriodic(asked);
    if (isOnePiece && (isExpected || (asked.length >= MIN_ECHO_CHARS && !repeatsItself))) return '';
    return repeatsItself && !isOnePiece ? before + text : null;
  }

  return {
    take(text) {
      if (held === null || text === '') return text;
      const expected = asked.slice(held, held + text.length);
      if (!text.startsWith(expected)) return release() + text;
      if (held + expected.length === asked.length) return wholeAgain(text);
      held += expected.length;
      return '';
    },
    isPast: () => true,
    release,
  };
}

/** Swallows as much of `seam` as is said again. */
function createSeamGate(seam: string): TextGate {
  let at = 0;
  return {
    take(text) {
      let said = 0;
      while (said < text.length && at < seam.length && text[said] === seam[at]) {
        said += 1;
        at += 1;
      }
      if (said < text.length) at = seam.length;
      return text.slice(said);
    },
    isPast: () => true,
    release: () => '',
  };
}

/** Whether a text is one that is said at least twice, the last time perhaps not to its end. */
function isPeriodic(text: string): boolean {
  // Of each beginning of the text, how long an end of it is a beginning too (Knuth, Morris and Pratt).
  const ends = new Uint32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = ends[length - 1] ?? 0;
    if (text[at] === text[length]) length += 1;
    ends[at] = length;
  }
  return text.length > 1 && 2 * (text.length - length) <= text.length;
}
