/** One event beyond this is none (design 4). */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** Whole events cut from a byte stream. */
export interface Frames {
  /** The bytes of all whole events, in order. */
  readonly bytes: Buffer;
  /** Where in `bytes` each event ends. */
  readonly ends: readonly number[];
}

/** Cuts a stream of server-sent events at event boundaries, whatever pieces it arrives in. */
export interface Framer {
  /** Takes the next piece; null while no event is whole. */
  push(chunk: Buffer): Frames | null;
  /** Bytes of the event that is not whole yet. */
  pendingBytes(): number;
  /** Takes out the unfinished event. */
  takePending(): Buffer;
}

/**
 * Makes a framer. Lines end in LF, CRLF or CR, an event at a blank line (WHATWG HTML, 9.2.5).
 * No byte is looked at twice, and pieces are joined once, when their event is whole.
 */
export function createFramer(): Framer {
  return new EventFramer();
}

class EventFramer implements Framer {
  #parts: Buffer[] = [];
  #pending = 0;
  #atLineStart = true;
  /** The byte before this one where it ended a line, else 0. */
  #before = 0;
  /** A blank line's CR has come; the LF that belongs to it has not. */
  #owesLf = false;

  push(chunk: Buffer): Frames | null {
    const ends = this.#findEnds(chunk);
    const last = ends?.at(-1);
    if (ends === null || last === undefined) {
      this.#parts.push(chunk);
      this.#pending += chunk.length;
      return null;
    }
    // Most pieces are one whole event: then there is nothing to cut or to join.
    const whole = last === chunk.length ? chunk : chunk.subarray(0, last);
    const shift = this.#pending;
    this.#pending = chunk.length - last;
    if (shift === 0 && this.#pending === 0) return { bytes: whole, ends };
    const bytes = shift === 0 ? whole : Buffer.concat([...this.#parts, whole]);
    this.#parts = this.#pending === 0 ? [] : [chunk.subarray(last)];
    return { bytes, ends: shift === 0 ? ends : ends.map((end) => end + shift) };
  }

  pendingBytes(): number {
    return this.#pending;
  }

  takePending(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#pending = 0;
    return rest;
  }

  #findEnds(chunk: Buffer): number[] | null {
    let ends: number[] | null = null;
    const hasCr = chunk.includes(CR);
    let at = 0;
    while (at < chunk.length) {
      const byte = chunk[at];
      if (this.#before === CR && byte === LF) {
        // The second half of a CRLF whose CR already ended the line, and perhaps the event.
        at += 1;
        if (this.#owesLf) ends = withEnd(ends, at);
        else if (ends?.at(-1) === at - 1) ends[ends.length - 1] = at;
        this.#owesLf = false;
        this.#before = LF;
        continue;
      }
      if (this.#owesLf) ends = withEnd(ends, at);
      this.#owesLf = false;
      if (byte === LF || byte === CR) {
        at += 1;
        // Lines that end in CRLF so far will go on to: the event is not whole without its LF.
        this.#owesLf = this.#atLineStart && byte === CR && this.#before === LF;
        if (this.#atLineStart && !this.#owesLf) ends = withEnd(ends, at);
        this.#atLineStart = true;
        this.#before = byte;
        continue;
      }
      this.#before = 0;
      this.#atLineStart = false;
      at = nextTerminator(chunk, at, hasCr);
    }
    return ends;
  }
}

/** An array is made with its first element: one that is empty when it is pushed to takes room for sixteen more. */
function withEnd(ends: number[] | null, end: number): number[] {
  if (ends === null) return [end];
  ends.push(end);
  return ends;
}

function nextTerminator(chunk: Buffer, from: number, hasCr: boolean): number {
  const lf = chunk.indexOf(LF, from);
  const end = lf === -1 ? chunk.length : lf;
  if (!hasCr) return end;
  const cr = chunk.indexOf(CR, from);
  return cr === -1 || cr > end ? end : cr;
}

/** The events of `frames`, one slice each. */
export function eventsOf(frames: Frames): Buffer[] {
  return frames.ends.map((end, index) => frames.bytes.subarray(frames.ends[index - 1] ?? 0, end));
}

/** Whole events as frames. */
export function framesOf(events: readonly Buffer[]): Frames {
  let end = 0;
  const ends = events.map((event) => (end += event.length));
  const [only] = events;
  return { bytes: events.length === 1 && only ? only : Buffer.concat(events), ends };
}

/** The `data` of one event, its lines joined with LF; null when it has none (a comment, say). */
export function dataOf(event: Buffer): string | null {
  let data: string | null = null;
  for (const line of linesOf(event)) {
    const value = fieldValue(line, 'data');
    if (value !== null) data = data === null ? value : `${data}\n${value}`;
  }
  return data;
}

/** Whether an event bears the name `error`. Most hold no such word, which is seen without cutting lines. */
export function isNamedError(event: Buffer): boolean {
  return (
    event.includes('error') && linesOf(event).some((line) => fieldValue(line, 'event') === 'error')
  );
}

function linesOf(event: Buffer): string[] {
  const text = event.toString('utf8');
  return text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n');
}

function fieldValue(line: string, field: string): string | null {
  if (!line.startsWith(field)) return null;
  if (line.length === field.length) return '';
  if (line[field.length] !== ':') return null;
  const start = line[field.length + 1] === ' ' ? field.length + 2 : field.length + 1;
  return line.slice(start);
}
