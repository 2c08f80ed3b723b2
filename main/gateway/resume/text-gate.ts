import type { Echo } from './prefill.ts';

/** Decides which part of the second stream's text the caller has not got yet. */
export interface TextGate {
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
export const SHUT_GATE: TextGate = { take: () => '', isPast: () => true, release: () => '' };

/** Swallows a text that repeats `sent` to its end; what differs is turned away. */
export function createRepeatGate(sent: string): TextGate {
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
export interface Asking {
  readonly asked: string;
  /** The blanks that the caller has after it. */
  readonly seam: string;
  readonly echo: Echo;
}

/**
 * Lets through what goes on from `asked` and the seam. `sent` is the answer that the caller has; where that
 * began with words of the caller's own it is less than `asked`, and may be begun anew by itself.
 */
export function createContinuingGate({ asked, seam, echo }: Asking, sent: string): TextGate {
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
