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
  | { readonly kind: 'more' }
  | CommittedStart
  /** The first bytes of an answer that is not JSON. */
  | { readonly kind: 'bytes'; readonly first: Buffer }
  /** A whole JSON answer, validated, or a whole error body. */
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'bad'; readonly detail: string };

/** Reads a body up to the point where it may be sent to the caller. */
export interface BodyReader {
  push(chunk: Buffer): Progress;
  end(): Progress;
  /** Whether content has arrived, although the answer is not whole: from then on the idle limit applies. */
  hasContent(): boolean;
  /** Whether the last chunk brought only comments, which are no sign of progress. */
  wasSilent(): boolean;
}

/** Limit of a whole answer in memory. Joining the pieces of twice as much blocks for 40 ms. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 1024 * 1024;

const MORE: Progress = { kind: 'more' };
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

  function hold(events: readonly Buffer[]): void {
    for (const event of events) {
      held.add(event);
      ends.push(held.length);
    }
  }

  function read(events: readonly Buffer[]): Progress {
    for (const [index, event] of events.entries()) {
      let isEnd = false;
      const kind = kindOf(event, format, (chunk) => {
        isEnd = isRest && format.isLastChunk(chunk);
      });
      if (kind === 'content' || isEnd) {
        hold(events.slice(index));
        return { kind: 'commit', held: { bytes: held.take(), ends }, framer };
      }
      if (kind === 'done') return bad('a stream without content');
      if (typeof kind === 'object') return bad(kind.error);
      // Dropped, because a client's parser would throw on it.
      if (kind === 'unreadable') continue;
      hold([event]);
      if (held.length > maxHeldBytes) return tooMuchHeld(maxHeldBytes);
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
    hasContent: () => false,
    wasSilent: () => false,
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
  let wasSilent = false;
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
    return MORE;
  }

  function whole(): Progress {
    const body = assembly.result();
    if (body !== null) return { kind: 'whole', body };
    return bad(assembly.problem() ?? 'an answer that cannot be written');
  }

  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return bad(`an answer over ${MAX_ANSWER_BYTES} bytes`);
      wasSilent = false;
      return readFrames(framer, chunk, (frames) => {
        wasSilent = !hasData(frames);
        return read(eventsOf(frames));
      });
    },
    end() {
      const last = read(lastEvent(framer));
      if (last.kind !== 'more') return last;
      if (content && assembly.finished()) return whole();
      return bad(content ? 'a stream that was cut' : 'a stream that ended without content');
    },
    hasContent: () => content,
    wasSilent: () => wasSilent,
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
        if (!forStream) return { kind: 'whole', body };
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
    hasContent: () => false,
    wasSilent: () => false,
  };
}

function asEvent(body: Buffer): Progress {
  if (body.length > MAX_EVENT_BYTES)
    return bad(`an answer over ${MAX_EVENT_BYTES} bytes, for a stream`);
  const text = body.toString('utf8');
  const isWritable = !isHeavyJson(text, MAX_CHUNK_WEIGHT) && writeJson(parseJson(text)) !== null;
  return isWritable ? { kind: 'whole', body } : TOO_DEEP;
}

export function createErrorReader(): BodyReader {
  return createWholeReader(MAX_ERROR_BYTES, (body) => ({ kind: 'whole', body }));
}

function createWholeReader(maxBytes: number, judge: (body: Buffer) => Progress): BodyReader {
  const gathered = new ByteBuffer();
  return {
    push(chunk) {
      gathered.add(chunk);
      return gathered.length > maxBytes ? bad(`a body over ${maxBytes} bytes`) : MORE;
    },
    end: () => judge(gathered.take()),
    hasContent: () => false,
    wasSilent: () => false,
  };
}
