import { beginsCall, type LeakedCall, MARKERS, readCalls } from './dialects.ts';
import type { OfferedTools } from './offered.ts';

/** A marker, and a name behind it. */
const MAX_BEGIN_CHARS = 160;
/** Longer calls, and answers with more that looks like one, are passed on as they are: their readings take time. */
const MAX_HELD_CHARS = 256 * 1024;
const MAX_REFUTED = 16;

/**
 * Passes on the text of an answer, but for what begins as a call: that is held until its beginning turns out to be none,
 * or to the end of the answer. Prose behind it makes all of it a text, and code is never held.
 */
export class LeakGate {
  readonly #offered: () => OfferedTools;
  #held = '';
  /** Whether what is held begins as a call. */
  #isCall = false;
  #refuted = 0;
  /** Of what was passed on: whether it says anything, its last line, and whether that is in a code fence. */
  #hasText = false;
  #line = '';
  #isFenced = false;

  constructor(offered: () => OfferedTools) {
    this.#offered = offered;
  }

  /** What may be passed on, of a text that goes on. */
  push(text: string): string {
    this.#held += text;
    let passed = this.#untilMarker();
    while (this.#held !== '' && !this.#isWaiting()) passed += this.#refute() + this.#untilMarker();
    return passed;
  }

  /** The rest of the text, and the calls behind it. */
  end(text: string): { readonly text: string; readonly calls: readonly LeakedCall[] } {
    let passed = this.push(text);
    while (this.#held !== '') {
      const calls = readCalls(this.#held, this.#offered(), !this.#hasText);
      if (calls !== null) return { text: passed, calls };
      passed += this.#refute() + this.#untilMarker();
    }
    return { text: passed, calls: [] };
  }

  /** Passes on as many characters of what is held; all by default. */
  release(chars = this.#held.length): string {
    const passed = this.#held.slice(0, chars);
    this.#held = this.#held.slice(chars);
    this.#hasText ||= passed.trim() !== '';
    for (const [n, line] of passed.split('\n').entries()) {
      if (n > 0) {
        if (FENCE.test(this.#line)) this.#isFenced = !this.#isFenced;
        this.#line = '';
      }
      this.#line = (this.#line + line).slice(0, MAX_LINE_CHARS);
    }
    return passed;
  }

  #isWaiting(): boolean {
    const { length } = this.#held;
    if (this.#isCall || length < MAX_BEGIN_CHARS) return length <= MAX_HELD_CHARS;
    this.#isCall = beginsCall(this.#held, this.#offered(), !this.#hasText);
    return this.#isCall;
  }

  /** What is held is no call, but may have one in it. */
  #refute(): string {
    this.#isCall = false;
    this.#refuted += 1;
    const isLast = this.#held.length > MAX_HELD_CHARS || this.#refuted > MAX_REFUTED;
    return this.release(isLast ? undefined : 1);
  }

  #untilMarker(): string {
    let passed = '';
    while (this.#held !== '' && !this.#isCall) {
      if (!this.#hasText) passed += this.release(this.#held.search(/\S|$/));
      passed += this.release(this.#nextMarker());
      const isQuoted = this.#line.split('`').length % 2 === 0;
      if (!this.#isFenced && !isQuoted && !FENCE.test(this.#line)) return passed;
      passed += this.release(1);
    }
    return passed;
  }

  /** Where the first marker stands, or begins at the end; the length of what is held if nowhere. */
  #nextMarker(): number {
    const { length } = this.#held;
    if (this.#refuted > MAX_REFUTED) return length;
    if (!this.#hasText && ALONE.test(this.#held.slice(0, MAX_BEGIN_CHARS))) return 0;
    const found = this.#held.search(MARKER);
    if (found !== -1) return found;
    let at = Math.max(0, length - MAX_MARKER_CHARS);
    while (!MARKERS.some((marker) => marker.startsWith(this.#held.slice(at)))) at += 1;
    return at;
  }
}

const MARKER = new RegExp(MARKERS.map((each) => each.replaceAll(/[[\]|]/g, '\\$&')).join('|'));
const MAX_MARKER_CHARS = Math.max(...MARKERS.map(({ length }) => length));
/** As far as it goes, the beginning of an object with a name, or of a list of them. */
const ALONE = /^(?:\[\s*(?:$|\{)|\{)\s*(?:$|"(?:$|[nitap]))/;
const FENCE = /^\s{0,12}(?:```|~~~)/;
/** Of a line, to see whether it is a fence or has code. */
const MAX_LINE_CHARS = 1000;
