import type { Echo } from '../../upstream/upstreams.ts';

export interface TextGate {
  /** The part of `text` to send; null if the answer differs. */
  take(text: string): string | null;
  /** Whether everything that must be repeated has been. */
  isPast(): boolean;
  /** Returns the text that is held back, at the end of the stream. */
  release(): string;
}

/** A shorter text may be repeated in one piece by chance, as a token that occurs twice. */
const MIN_ECHO_CHARS = 16;

export const SHUT_GATE: TextGate = { take: () => '', isPast: () => true, release: () => '' };
export const OPEN_GATE: TextGate = { ...SHUT_GATE, take: (text) => text };

/** Drops the repetition of `sent`; a text that differs is rejected. */
export function createRepeatGate(sent: string): TextGate {
  let at = 0;
  return {
    ...OPEN_GATE,
    take(text) {
      const expected = sent.slice(at, at + text.length);
      if (!text.startsWith(expected)) return null;
      at += expected.length;
      return text.slice(expected.length);
    },
    isPast: () => at === sent.length,
  };
}

export interface Continuation {
  readonly partial: string;
  readonly blanks: string;
  readonly echo: Echo;
}

/**
 * Passes what continues `partial` and the blanks. `sent` is the answer so far; where the caller's own prefill
 * precedes it, it is shorter than `partial`, and may be echoed by itself.
 */
export function createContinuingGate(
  { partial, blanks, echo }: Continuation,
  sent: string,
): TextGate {
  const blanksGate = createBlanksGate(blanks);
  if (echo === 'never') return blanksGate;
  const texts = new Set([partial, sent.trimEnd() || partial]);
  return [...texts]
    .map((text) => createEchoGate(text, echo === 'always'))
    .reduceRight(chain, blanksGate);
}

/** What `first` passes goes through `next`. */
function chain(next: TextGate, first: TextGate): TextGate {
  return {
    ...OPEN_GATE,
    take(text) {
      const rest = first.take(text);
      return rest === null ? null : next.take(rest);
    },
    release: () => (next.take(first.release()) ?? '') + next.release(),
  };
}

/**
 * Drops an echo of `partial`: a first piece that is all of it. Equal text in several pieces is either the answer
 * begun from the start, which is rejected, or an answer that repeats itself, which is assumed only where `partial` is
 * periodic. Text with just the same beginning is passed whole, with a delay.
 */
function createEchoGate(partial: string, isExpected: boolean): TextGate {
  /** Length of the part of `partial` that is held back; null once it is decided. */
  let held: number | null = 0;

  function release(): string {
    const text = partial.slice(0, held ?? 0);
    held = null;
    return text;
  }

  function afterWhole(text: string): string | null {
    const before = release();
    const isOnePiece = before === '' && text === partial;
    const repeatsItself = isPeriodic(partial);
    if (isOnePiece && (isExpected || (partial.length >= MIN_ECHO_CHARS && !repeatsItself)))
      return '';
    return repeatsItself && !isOnePiece ? before + text : null;
  }

  return {
    ...OPEN_GATE,
    release,
    take(text) {
      if (held === null || text === '') return text;
      const expected = partial.slice(held, held + text.length);
      if (!text.startsWith(expected)) return release() + text;
      if (held + expected.length === partial.length) return afterWhole(text);
      held += expected.length;
      return '';
    },
  };
}

/** Drops as much of `blanks` as is repeated. */
export function createBlanksGate(blanks: string): TextGate {
  let at = 0;
  return {
    ...OPEN_GATE,
    take(text) {
      let repeated = 0;
      while (repeated < text.length && at < blanks.length && text[repeated] === blanks[at]) {
        repeated += 1;
        at += 1;
      }
      if (repeated < text.length) at = blanks.length;
      return text.slice(repeated);
    },
  };
}

/** Whether a text is a repetition of a shorter one, at least two of them; the last may be incomplete. */
function isPeriodic(text: string): boolean {
  // The failure function of Knuth, Morris and Pratt: for each prefix, its longest border.
  const ends = new Uint32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = ends[length - 1] ?? 0;
    if (text[at] === text[length]) length += 1;
    ends[at] = length;
  }
  return text.length > 1 && 2 * (text.length - length) <= text.length;
}
