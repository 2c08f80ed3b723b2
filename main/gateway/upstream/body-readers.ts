import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import { isHeavyJson, parseJson } from '../../platform/json.ts';
import {
  createEmptyAnswer,
  createNoticeFilter,
  type EmptyAnswer,
  type AnswerPiece,
  substanceOf,
} from '../protocols/chat/chunks.ts';
import { describedError, errorIn, type UpstreamError } from '../protocols/upstream-error.ts';

import type { Assembly } from '../protocols/assembly.ts';
import type { AnswerFormat, AnswerScan, StreamFormat } from '../protocols/endpoint.ts';
import { isJson } from '../../platform/http/passed-headers.ts';
import {
  NOTHING_SPENT,
  reportedTokens,
  type OutputSoFar,
  UsageMeter,
  tokensIn,
} from '../protocols/tokens.ts';
import {
  dataOf,
  eventsOf,
  Framer,
  type Frames,
  framesOf,
  hasData,
  isNamedError,
  MAX_EVENT_BYTES,
} from '../protocols/sse.ts';
import { errorOutsideOfData, UsualText } from '../protocols/stream-inspector.ts';

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
   * that is being assembled; from then on the idle limit applies. `notice`: the engine says that it is at work. `finish`: that answer is whole, only the end of its
   * stream may follow.
   */
  | {
      readonly kind: 'more';
      readonly brought: 'nothing' | 'notice' | 'data' | 'content' | 'finish';
    }
  | CommittedStart
  /** The first bytes of an answer that is not JSON. */
  | { readonly kind: 'bytes'; readonly first: Buffer }
  /** A whole JSON answer, validated, or a whole error body. `isAssembled`: it came as a stream. */
  | { readonly kind: 'whole'; readonly body: Buffer; readonly isAssembled: boolean }
  | Fault;

/** Why a body is no answer. */
export type Fault =
  | { readonly kind: 'bad'; readonly detail: string }
  | { readonly kind: 'error'; readonly error: UpstreamError };

/** Whether there is content of an answer that is being assembled. */
export function isAssembling(progress: Progress): boolean {
  if (progress.kind === 'whole') return progress.isAssembled;
  if (progress.kind !== 'more') return false;
  return progress.brought === 'content' || progress.brought === 'finish';
}

/** Reads a body up to the point where it may be sent to the caller. */
export interface BodyReader {
  push(chunk: Buffer): Progress;
  end(): Progress;
  /** What has come so far. */
  spent(): OutputSoFar;
}

/**
 * `relay`: as a stream. `rest`: as the remaining part of a stream that was resumed. `assemble`: one JSON answer
 * built from a stream. `whole`: as JSON.
 */
export type AnswerMode = 'relay' | 'rest' | 'assemble' | 'whole';

/** What is asked for, as far as a reader needs it. */
export interface ReadPlan {
  readonly format: AnswerFormat;
  readonly mode: AnswerMode;
  /** Whether the last message is a tool's result, to which a model may have nothing to add. */
  readonly followsToolResult: () => boolean;
}

/** The reader of an answer's body. */
export function readerFor(plan: ReadPlan, headers: ResponseHeaders): BodyReader {
  const { format, mode } = plan;
  const { stream, takesBytes } = format;
  if (takesBytes === true && !isJson(headers)) return createBytesReader();
  const json = () => createAnswerReader(plan);
  if (stream === null) return json();
  // Some engines label their streams as JSON, some a whole answer as a stream.
  return createSniffingReader(json, () =>
    mode === 'rest' || mode === 'relay'
      ? createStreamReader(stream, plan)
      : createAssemblingReader(stream, stream.createAssembly(), plan),
  );
}

/** More leading white space than this begins neither an answer nor a stream. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Chooses the reader by the first byte after white space: a brace or bracket begins JSON, anything else events. */
function createSniffingReader(json: () => BodyReader, events: () => BodyReader): BodyReader {
  let chosen: BodyReader | null = null;
  const blanks = new ByteBuffer();
  return {
    push(chunk) {
      if (chosen !== null) return chosen.push(chunk);
      const first = chunk.find((byte) => byte > 0x20);
      blanks.add(chunk);
      if (first !== undefined) {
        chosen = first === 0x7b || first === 0x5b ? json() : events();
        return chosen.push(blanks.take());
      }
      if (blanks.length <= MAX_BLANK_BYTES) return MORE;
      return bad(`over ${MAX_BLANK_BYTES} bytes of blanks`);
    },
    end: () => chosen?.end() ?? bad('an empty body'),
    spent: () => chosen?.spent() ?? NOTHING_SPENT,
  };
}

/** Limit of a whole answer in memory. Joining the pieces of twice as much blocks for 40 ms. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 1024 * 1024;

const MORE: Progress = { kind: 'more', brought: 'data' };
const NOTICE: Progress = { kind: 'more', brought: 'notice' };
const COMMENTS: Progress = { kind: 'more', brought: 'nothing' };
const CONTENT: Progress = { kind: 'more', brought: 'content' };
const FINISH: Progress = { kind: 'more', brought: 'finish' };
const bad = (detail: string): Fault => ({ kind: 'bad', detail });
const faultBy = (error: UpstreamError | null): Fault | null => error && { kind: 'error', error };
const tooMuchHeld = (maxBytes: number) => bad(`over ${maxBytes} bytes before any content`);
const NOT_JSON = bad('a body that is not JSON');

type EventJudgement =
  | { readonly kind: 'chunk'; readonly chunk: unknown; readonly piece: AnswerPiece }
  | { readonly kind: 'blank' | 'done' | 'unreadable' | 'notice' }
  | Fault;

function judged(
  event: Buffer,
  { judge }: StreamFormat,
  isNotice: (chunk: unknown) => boolean,
): EventJudgement {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '') return faultBy(errorOutsideOfData(event)) ?? { kind: 'blank' };
  if (data === '[DONE]') return { kind: 'done' };
  const chunk = parseJson(data);
  // An event too heavy to be parsed cannot be dropped either: it may be the answer.
  if (chunk === undefined || chunk === null)
    return isHeavyJson(data) ? bad('an event of too many values') : { kind: 'unreadable' };
  if (isNotice(chunk)) return { kind: 'notice' };
  const substance = judge(chunk);
  if (substance.kind === 'error') return substance;
  if (isNamedError(event)) return { kind: 'error', error: describedError(chunk) };
  return { kind: 'chunk', chunk, piece: substance };
}

/**
 * Holds a stream's events until the first one with content. For the rest of an answer the finish reason is enough:
 * there may be no content left.
 */
export function createStreamReader(
  format: StreamFormat,
  { mode, followsToolResult }: Pick<ReadPlan, 'mode' | 'followsToolResult'>,
): BodyReader {
  const { maxHeldBytes } = format;
  const framer = new Framer();
  const held = new ByteBuffer();
  const ends: number[] = [];
  const meter = new UsageMeter(false);
  const empty = createEmptyAnswer();
  const isNotice = createNoticeFilter();

  function hold(events: readonly Buffer[]): void {
    for (const event of events) {
      held.add(event);
      ends.push((ends.at(-1) ?? 0) + event.length);
    }
  }

  function commit(events: readonly Buffer[]): Progress {
    hold(events);
    return { kind: 'commit', held: { bytes: held.take(), ends }, framer };
  }

  function isStart(piece: AnswerPiece): boolean {
    if (piece.kind === 'content') return true;
    empty.add(piece);
    return (mode === 'rest' && piece.finish !== null) || empty.isRight();
  }

  function read(events: readonly Buffer[]): Progress {
    let progress = MORE;
    for (const [index, event] of events.entries()) {
      const each = judged(event, format, isNotice);
      switch (each.kind) {
        case 'chunk':
          if (isStart(each.piece)) return commit(events.slice(index));
          break;
        case 'done':
          return ended() ?? commit(events.slice(index));
        // Dropped: a client's parser would throw on the one, the other is no part of the answer.
        case 'notice':
          progress = NOTICE;
          continue;
        case 'unreadable':
          continue;
        case 'blank':
          break;
        default:
          return each;
      }
      hold([event]);
      if ((ends.at(-1) ?? 0) > maxHeldBytes) return tooMuchHeld(maxHeldBytes);
    }
    return progress;
  }

  /** Null if an answer without content is right. */
  function ended(): Fault | null {
    return faultOf(empty, followsToolResult, 'a stream without content');
  }

  return {
    push(chunk) {
      return readFrames(framer, chunk, (frames) => read(eventsOf(meter.take(frames))));
    },
    end() {
      const last = read(lastEvent(framer));
      return last.kind === 'more' ? (ended() ?? commit([])) : last;
    },
    // None of them has content.
    spent: () => meter.spent(),
  };
}

/** Why an answer without content is none; null if it is one. */
function faultOf(
  empty: EmptyAnswer,
  followsToolResult: () => boolean,
  detail: string,
): Fault | null {
  const verdict = empty.verdict(followsToolResult);
  if (verdict === 'right') return null;
  return bad(verdict === 'wrong' ? 'an answer without content' : detail);
}

/** Reads the events that `chunk` completes. */
function readFrames(framer: Framer, chunk: Buffer, read: (frames: Frames) => Progress): Progress {
  const frames = framer.push(chunk);
  if (framer.pendingBytes > MAX_EVENT_BYTES) return bad(`an event over ${MAX_EVENT_BYTES} bytes`);
  return frames === null ? MORE : read(frames);
}

/** The unfinished event at the end of a stream, completed: some engines omit the last blank line. */
export function lastEvent(framer: Framer): Buffer[] {
  const rest = framer.takePending();
  const isEvent = dataOf(rest) !== null || errorOutsideOfData(rest) !== null;
  return isEvent ? [Buffer.concat([rest, Buffer.from('\n\n')])] : [];
}

/**
 * Assembles a streamed answer for a caller that did not ask for a stream. Nothing reaches the caller before it is whole.
 * Up to its first content it is read as any stream.
 */
export function createAssemblingReader(
  format: StreamFormat,
  assembly: Assembly,
  plan: Pick<ReadPlan, 'followsToolResult'>,
): BodyReader {
  const start = createStreamReader(format, { ...plan, mode: 'assemble' });
  const meter = new UsageMeter(false);
  const isNotice = createNoticeFilter();
  const usual = assembly.addText === undefined ? null : new UsualText();
  let framer: Framer | null = null;
  let bytes = 0;

  function begun(progress: Progress): Progress {
    if (progress.kind !== 'commit') return progress;
    ({ framer } = progress);
    return read(progress.held);
  }

  function read(frames: Frames): Progress {
    for (const event of eventsOf(meter.take(frames))) {
      const end = takeText(event) ? null : take(event);
      if (end !== null) return end;
    }
    if (!hasData(frames)) return COMMENTS;
    if (meter.relayed === 0) return MORE;
    return assembly.finished() ? FINISH : CONTENT;
  }

  /** Whether nothing but its text is new. */
  function takeText(event: Buffer): boolean {
    const text = usual?.of(event) ?? null;
    if (text === null) return false;
    assembly.addText?.(text);
    meter.sent(framesOf([event]));
    return true;
  }

  /** Null: the answer goes on. */
  function take(event: Buffer): Progress | null {
    const each = judged(event, format, isNotice);
    if (each.kind === 'bad' || each.kind === 'error') return each;
    if (each.kind === 'done') return ended();
    if (each.kind !== 'chunk') return null;
    usual?.learn(event, each.chunk);
    if (each.piece.kind === 'content') meter.sent(framesOf([event]));
    assembly.add(each.chunk);
    const problem = assembly.problem();
    return problem === null ? null : bad(problem);
  }

  /** An answer that has begun without content was right without any. */
  function ended(): Progress {
    if (meter.relayed > 0 && !assembly.finished()) return bad(UNFINISHED);
    const json = assembly.result();
    if (json !== null) return { kind: 'whole', body: Buffer.from(json), isAssembled: true };
    return bad(assembly.problem() ?? 'an answer that cannot be written');
  }

  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return bad(`an answer over ${MAX_ANSWER_BYTES} bytes`);
      return framer === null ? begun(start.push(chunk)) : readFrames(framer, chunk, read);
    },
    end() {
      const last = framer === null ? begun(start.end()) : read(framesOf(lastEvent(framer)));
      return last.kind === 'more' ? ended() : last;
    },
    spent: () => (framer === null ? start.spent() : meter.spent()),
  };
}

/** `[DONE]` and a closed connection say nothing about whether an answer is whole. */
export const UNFINISHED = 'the stream ended without a finish reason';

/** Reads a whole JSON answer and validates it piece by piece. */
export function createAnswerReader({
  format,
  followsToolResult,
}: Omit<ReadPlan, 'mode'>): BodyReader {
  const scan = format.createScan();
  const parsed = (body: Buffer) => parseJson(body.toString('utf8'));

  const answer = (body: Buffer) => wholeOf(format.repaired?.(body) ?? body);

  /** Small, as there is no content in it. */
  function withoutContent(body: Buffer): Progress {
    const substance = substanceOf(parsed(body));
    if (substance.kind === 'error') return substance;
    const empty = createEmptyAnswer();
    empty.add(substance);
    return faultOf(empty, followsToolResult, 'an answer without content') ?? answer(body);
  }

  return createWholeReader(MAX_ANSWER_BYTES, scan, (body) => {
    if (body.length === 0) return bad('an empty body');
    switch (scan.substance(body)) {
      case null:
        return NOT_JSON;
      case 'content':
        return answer(body);
      case 'nothing':
        return withoutContent(body);
      case 'error':
        return faultBy(errorIn(parsed(body))) ?? bad('an error instead of an answer');
    }
  });
}

/** For an answer that is not JSON: its first byte is content. */
function createBytesReader(): BodyReader {
  return {
    push: (chunk) => (chunk.length === 0 ? MORE : { kind: 'bytes', first: chunk }),
    end: () => bad('an empty body'),
    spent: () => NOTHING_SPENT,
  };
}

function wholeOf(body: Buffer): Progress {
  return { kind: 'whole', body, isAssembled: false };
}

export function createErrorReader(): BodyReader {
  return createWholeReader(MAX_ERROR_BYTES, null, wholeOf);
}

function createWholeReader(
  maxBytes: number,
  scan: Pick<AnswerScan, 'push'> | null,
  judge: (body: Buffer) => Progress,
): BodyReader {
  const gathered = new ByteBuffer();
  let whole: Buffer | null = null;
  return {
    push(chunk) {
      gathered.add(chunk);
      // An error begins with what is wrong: vLLM repeats the prompt a hundred times behind it (vllm-project/vllm#49239).
      if (gathered.length > maxBytes)
        return scan === null ? judge(gathered.take()) : bad(`a body over ${maxBytes} bytes`);
      return scan?.push(gathered) === false ? NOT_JSON : MORE;
    },
    end: () => judge((whole = gathered.take())),
    spent() {
      // A whole body that is no answer costs nothing, unless it says so.
      const told = whole === null ? null : reportedTokens(whole);
      return { told, output: whole === null ? tokensIn(gathered.view()) : 0 };
    },
  };
}
