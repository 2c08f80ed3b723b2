import { ByteBuffer } from '../../platform/byte-buffer.ts';
import { isHeavyJson, parseJson } from '../../platform/json.ts';
import type { Assembly } from './assembly.ts';
import { writeJson } from './completion.ts';
import type { AnswerFormat, StreamFormat } from './endpoint.ts';
import {
  createFramer,
  dataOf,
  eventsOf,
  type Framer,
  type Frames,
  hasData,
  isNamedError,
  MAX_EVENT_BYTES,
} from './sse.ts';

/** The events up to the first one with content: what the caller gets first. */
export interface CommittedStart {
  readonly kind: 'commit';
  /** Whole events; the first one with content is among them. */
  readonly held: Frames;
  /** Continues where the held events end. */
  readonly framer: Framer;
}

export type Progress =
  /**
   * Nothing can be passed on yet. `nothing`: only comments, which are no sign of progress. `content`: of an answer
   * that is being assembled; from then on the idle limit applies.
   */
  | { readonly kind: 'more'; readonly brought: 'nothing' | 'data' | 'content' }
  | CommittedStart
  /** The first bytes of an answer that is not JSON. */
  | { readonly kind: 'bytes'; readonly first: Buffer }
  /** A whole JSON answer, validated, or a whole error body. `isAssembled`: it came as a stream. */
  | { readonly kind: 'whole'; readonly body: Buffer; readonly isAssembled: boolean }
  | { readonly kind: 'bad'; readonly detail: string };

/** Whether there is content of an answer that is being assembled. */
export function isAssembling(progress: Progress): boolean {
  if (progress.kind === 'whole') return progress.isAssembled;
  return progress.kind === 'more' && progress.brought === 'content';
}

/** Reads a body up to the point where it may be sent to the caller. */
export interface BodyReader {
  push(chunk: Buffer): Progress;
  end(): Progress;
}

/** Limit of a whole answer in memory. Joining the pieces of twice as much blocks for 40 ms. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 1024 * 1024;

export const MORE: Progress = { kind: 'more', brought: 'data' };
const COMMENTS: Progress = { kind: 'more', brought: 'nothing' };
const CONTENT: Progress = { kind: 'more', brought: 'content' };
const bad = (detail: string): Progress => ({ kind: 'bad', detail });
const tooMuchHeld = (maxBytes: number) => bad(`over ${maxBytes} bytes before any content`);
const TOO_DEEP = bad('an answer nested too deep');
const NOT_JSON = bad('a body that is not JSON');

type EventKind = 'content' | 'nothing' | 'done' | 'unreadable' | { readonly error: string };

function kindOf(
  event: Buffer,
  { judge }: StreamFormat,
  onChunk: (chunk: unknown) => void,
): EventKind {
  const data = dataOf(event);
  if (data === null || data.trim() === '') return 'nothing';
  if (data.trim() === '[DONE]') return 'done';
  const isError = isNamedError(event);
  const chunk = parseJson(data);
  // An event too heavy to be parsed cannot be dropped either: it may be the answer.
  if (chunk === undefined || chunk === null)
    return isHeavyJson(data) ? { error: 'an event of too many values' } : 'unreadable';
  const substance = judge(chunk);
  if (isError || substance.kind === 'error')
    return { error: 'an error event instead of an answer' };
  onChunk(chunk);
  return substance.kind;
}

/**
 * Holds a stream's events until the first one with content. For the rest of an answer (`isRest`) the finish
 * reason is enough: there may be no content left.
 */
export function createStreamReader(format: StreamFormat, isRest: boolean): BodyReader {
  const { maxHeldBytes } = format;
  const framer = createFramer();
  const held = new ByteBuffer();
  const ends: number[] = [];

  function hold(event: Buffer): void {
    held.add(event);
    ends.push((ends.at(-1) ?? 0) + event.length);
  }

  function read(events: readonly Buffer[]): Progress {
    for (const [index, event] of events.entries()) {
      let isEnd = false;
      const kind = kindOf(event, format, (chunk) => {
        isEnd = isRest && format.isLastChunk(chunk);
      });
      if (kind === 'content' || isEnd) {
        for (const each of events.slice(index)) hold(each);
        return { kind: 'commit', held: { bytes: held.take(), ends }, framer };
      }
      if (kind === 'done') return bad('a stream without content');
      if (typeof kind === 'object') return bad(kind.error);
      // Dropped, because a client's parser would throw on it.
      if (kind === 'unreadable') continue;
      hold(event);
      if ((ends.at(-1) ?? 0) > maxHeldBytes) return tooMuchHeld(maxHeldBytes);
    }
    return MORE;
  }

  return {
    push(chunk) {
      return readFrames(framer, chunk, (frames) => read(eventsOf(frames)));
    },
    end() {
      const last = read(lastEvent(framer));
      return last.kind === 'more' ? bad('a stream that ended without content') : last;
    },
  };
}

/** Reads the events that `chunk` completes. */
function readFrames(framer: Framer, chunk: Buffer, read: (frames: Frames) => Progress): Progress {
  const frames = framer.push(chunk);
  if (framer.pendingBytes() > MAX_EVENT_BYTES) return bad(`an event over ${MAX_EVENT_BYTES} bytes`);
  return frames === null ? MORE : read(frames);
}

/** The unfinished event at the end of a stream, completed: some engines omit the last blank line. */
export function lastEvent(framer: Framer): Buffer[] {
  const rest = framer.takePending();
  return dataOf(rest) === null ? [] : [Buffer.concat([rest, Buffer.from('\n\n')])];
}

/** Assembles a streamed answer for a caller that did not ask for a stream. Nothing reaches the caller before it is whole. */
export function createAssemblingReader(format: StreamFormat, assembly: Assembly): BodyReader {
  const { maxHeldBytes } = format;
  const framer = createFramer();
  let content = false;
  let bytes = 0;
  let bytesBeforeContent = 0;

  function read(events: readonly Buffer[]): Progress {
    for (const event of events) {
      const kind = kindOf(event, format, (chunk) => assembly.add(chunk));
      if (typeof kind === 'object') return bad(kind.error);
      const problem = assembly.problem();
      if (problem !== null) return bad(problem);
      if (kind === 'content') content = true;
      if (kind === 'done') return content ? whole() : bad('a stream without content');
      if (!content) bytesBeforeContent += event.length;
      if (bytesBeforeContent > maxHeldBytes) return tooMuchHeld(maxHeldBytes);
    }
    return content ? CONTENT : MORE;
  }

  function whole(): Progress {
    const body = assembly.result();
    if (body !== null) return { kind: 'whole', body, isAssembled: true };
    return bad(assembly.problem() ?? 'an answer that cannot be written');
  }

  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return bad(`an answer over ${MAX_ANSWER_BYTES} bytes`);
      return readFrames(framer, chunk, (frames) => {
        const progress = read(eventsOf(frames));
        return progress.kind === 'more' && !hasData(frames) ? COMMENTS : progress;
      });
    },
    end() {
      const last = read(lastEvent(framer));
      if (last.kind !== 'more') return last;
      if (content && assembly.finished()) return whole();
      return bad(content ? 'a stream that was cut' : 'a stream that ended without content');
    },
  };
}

/** A whole answer that becomes one event is limited like an event. */
const MAX_CHUNK_WEIGHT = 32_768;

/**
 * Reads a whole JSON answer and validates it piece by piece; its bytes are passed on unchanged.
 * With `forStream` it must also be small enough to be rewritten as a chunk.
 */
export function createAnswerReader(format: AnswerFormat, forStream: boolean): BodyReader {
  const scan = format.createScan();
  const whole = createWholeReader(MAX_ANSWER_BYTES, (body) => {
    if (body.length === 0) return bad('an empty body');
    switch (scan.substance()) {
      case null:
        return NOT_JSON;
      case 'content':
        if (!forStream) return wholeOf(body);
        return format.stream?.asEvents ? asEvent(body) : bad('a whole answer instead of a stream');
      case 'nothing':
        return bad('an answer without content');
      case 'error':
        return bad('an error instead of an answer');
    }
  });
  return { ...whole, push: (chunk) => (scan.push(chunk) ? whole.push(chunk) : NOT_JSON) };
}

/** For an answer that is not JSON: its first byte is content. */
export function createBytesReader(): BodyReader {
  return {
    push: (chunk) => (chunk.length === 0 ? MORE : { kind: 'bytes', first: chunk }),
    end: () => bad('an empty body'),
  };
}

function wholeOf(body: Buffer): Progress {
  return { kind: 'whole', body, isAssembled: false };
}

function asEvent(body: Buffer): Progress {
  if (body.length > MAX_EVENT_BYTES)
    return bad(`an answer over ${MAX_EVENT_BYTES} bytes, for a stream`);
  const text = body.toString('utf8');
  const isWritable = !isHeavyJson(text, MAX_CHUNK_WEIGHT) && writeJson(parseJson(text)) !== null;
  return isWritable ? wholeOf(body) : TOO_DEEP;
}

export function createErrorReader(): BodyReader {
  return createWholeReader(MAX_ERROR_BYTES, wholeOf);
}

function createWholeReader(maxBytes: number, judge: (body: Buffer) => Progress): BodyReader {
  const gathered = new ByteBuffer();
  return {
    push(chunk) {
      gathered.add(chunk);
      return gathered.length > maxBytes ? bad(`a body over ${maxBytes} bytes`) : MORE;
    },
    end: () => judge(gathered.take()),
  };
}
