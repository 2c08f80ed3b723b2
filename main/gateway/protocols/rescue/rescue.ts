import { isObject, listOf, memberOf, parseExactJson, parseJson } from '../../../platform/json.ts';
import { newCallId } from '../chat/calls.ts';
import { callsIn } from '../chat/chunks.ts';
import type { JsonBody } from '../json-edit.ts';
import { dataOf, eventsOf, eventWith, type Frames, framesOf } from '../sse.ts';
import type { Json } from '../translation/field-reader.ts';
import {
  beginsCall,
  type LeakedCall,
  MARKERS,
  offeredIn,
  type OfferedTools,
  readCalls,
} from './dialects.ts';

/** Makes calls of those that a model wrote into the text of its answer and its engine did not read. */
export function rescueFor(request: JsonBody) {
  let known: OfferedTools | null = null;
  const offered = () => (known ??= offeredIn(request));
  return {
    whole: (answer: Buffer) => rescuedAnswer(answer, new LeakGate(offered)),
    /** Of the events of a stream, in turn. */
    inStream(onCalls: (calls: number) => void) {
      const gate = new LeakGate(offered);
      return (frames: Frames) =>
        framesOf(eventsOf(frames).flatMap((event) => rescuedEvent(event, gate, onCalls)));
    },
  };
}

const asCall = ({ name, arguments: args }: LeakedCall) => ({
  id: newCallId(),
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

const textOf = (content: unknown): string => (typeof content === 'string' ? content : '');

function rescuedAnswer(body: Buffer, gate: LeakGate) {
  const answer = parseExactJson(body.toString('utf8'));
  const [choice] = listOf(memberOf(answer, 'choices'));
  const message = memberOf(choice, 'message');
  if (!isObject(answer) || !isObject(choice) || !isObject(message)) return { body, calls: 0 };
  const { text, calls } = gated(gate, message, choice['finish_reason']);
  if (calls.length === 0) return { body, calls: 0 };
  const content = text.trim() === '' ? null : text;
  const called = { ...message, content, tool_calls: calls.map(asCall) };
  const choices = [{ ...choice, message: called, finish_reason: 'tool_calls' }];
  return { body: Buffer.from(JSON.stringify({ ...answer, choices })), calls: calls.length };
}

/** In place of an event that is held: a call may take minutes, and clients give up in silence. */
const HELD = Buffer.from(':\n\n');

/** The event itself if nothing of it is held back. */
function rescuedEvent(event: Buffer, gate: LeakGate, onCalls: (calls: number) => void): Buffer[] {
  const chunk = parseJson(dataOf(event) ?? '');
  const [choice] = listOf(memberOf(chunk, 'choices'));
  const delta = memberOf(choice, 'delta');
  if (!isObject(chunk) || !isObject(choice) || !isObject(delta)) return [event];
  const { content, ...others } = delta;
  const { finish_reason: finish = null } = choice;
  const { text, calls } = gated(gate, delta, finish);
  if (text === textOf(content) && calls.length === 0) return [event];
  const written = (said: Json, reason: unknown) => {
    const choices = [{ ...choice, delta: said, finish_reason: reason }];
    return eventWith(event, JSON.stringify({ ...chunk, choices }));
  };
  const said = { ...others, ...(text !== '' && { content: text }) };
  if (calls.length === 0)
    return finish === null && Object.keys(said).length === 0 ? [HELD] : [written(said, finish)];
  onCalls(calls.length);
  const tool_calls = calls.map((call, index) => ({ index, ...asCall(call) }));
  return [written({ ...said, tool_calls }, null), written({}, 'tool_calls')];
}

/** What may be passed on. An answer that was cut off, or filtered, has no call that its model meant. */
function gated(gate: LeakGate, { content, tool_calls: known }: Json, finish: unknown) {
  const said = textOf(content);
  const isOver = (finish ?? null) !== null;
  const isText =
    callsIn(known).length > 0 || (isOver && finish !== 'stop' && finish !== 'tool_calls');
  if (isText) return { text: gate.release() + said, calls: [] };
  return isOver ? gate.end(said) : { text: gate.push(said), calls: [] };
}

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
