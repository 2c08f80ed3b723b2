/** Decides which part of the second stream's text the caller has not got yet. */
export interface TextGate {
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
export const OPEN_GATE: TextGate = { take: (text) => text, isPast: () => true, release: () => '' };

/** Lets no text through. */
export const SHUT_GATE: TextGate = { ...OPEN_GATE, take: () => '' };

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

/** Swallows an echo of `asked`. A text that only begins like one comes out whole, if later. */
export function createEchoGate(asked: string): TextGate {
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
