import { isObject } from '#shared/objects.ts';
import { isHeavyJson, parseJson, writeJson } from '../../../platform/json.ts';
import { endOf } from '../../protocols/chat/finish.ts';
import { errorIn } from '../../protocols/upstream-error.ts';
import { createMessageChunks, type MessageChunks } from '../../protocols/messages/chunks.ts';
import {
  dataOf,
  DONE_EVENT,
  eventsOf,
  eventWith,
  type Frames,
  framesOf,
  isNamedError,
} from '../../protocols/sse.ts';
import { continuedUsage } from './continued-usage.ts';
import { createTextSplice, type Diverged, type SpliceMode } from './text-splice.ts';
import { contentOf, keptOf } from './deltas.ts';
import { type Transcript, withoutIdentity } from './transcript.ts';

/** The part of the second stream that is sent to the caller. */
type Spliced =
  | { readonly kind: 'frames'; readonly frames: Frames | null }
  /** It is not the same answer; nothing of it may be sent. */
  | { readonly kind: 'diverged'; readonly detail: string };

/** Turns the events of a second stream into the rest of the first. */
export interface Splice {
  push(frames: Frames): Spliced;
}

/**
 * The rest is chunks of a chat completion, also where the second stream is a message of the Messages API. Comments, errors
 * and `[DONE]` pass unchanged: the relay inspects the result.
 */
export function createSplice(transcript: Transcript, mode: SpliceMode): Splice {
  const chunks = createChunkSplice(transcript, mode);
  const message = createMessageChunks();
  let diverged: Spliced | null = null;
  return {
    push(frames) {
      const out: Buffer[] = [];
      for (const event of eventsOf(frames)) {
        if (diverged !== null) return diverged;
        const spliced = spliceEvent(event, chunks, message);
        if (typeof spliced === 'string') diverged = { kind: 'diverged', detail: spliced };
        else out.push(...spliced);
      }
      return diverged ?? { kind: 'frames', frames: out.length === 0 ? null : framesOf(out) };
    },
  };
}

/** The events that replace one of the second stream, or how that one differs. */
function spliceEvent(
  event: Buffer,
  chunks: ChunkSplice,
  message: MessageChunks,
): readonly Buffer[] | string {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '' || isNamedError(event)) return [event];
  if (data === '[DONE]') return spliceEnd(chunks);
  const value = parseJson(data);
  // The relay drops unreadable events too; missing text then shows as a difference.
  if (!isObject(value))
    return isHeavyJson(data) ? 'the new answer has an event of too many values' : [];
  if (errorIn(value) !== null) return [event];
  const isTyped = typeof value['type'] === 'string';
  const chunk = isTyped ? message.read(value) : value;
  if (chunk === null) return [];
  if (chunk === 'end') return spliceEnd(chunks);
  const spliced = chunks.take(chunk);
  if (spliced.kind === 'diverged') return spliced.detail;
  return written(isTyped ? NO_LINES : event, spliced.chunk);
}

const NO_LINES = Buffer.alloc(0);
const DONE = Buffer.from(DONE_EVENT);

function spliceEnd(chunks: ChunkSplice): readonly Buffer[] | string {
  const spliced = chunks.end();
  if (spliced.kind === 'diverged') return spliced.detail;
  const last = written(NO_LINES, spliced.chunk);
  return typeof last === 'string' ? last : [...last, DONE];
}

function written(event: Buffer, chunk: Chunk | null): readonly Buffer[] | string {
  if (chunk === null) return [];
  const json = writeJson(chunk);
  return json === null ? 'the new answer is nested too deep' : [eventWith(event, json)];
}

type Chunk = Readonly<Record<string, unknown>>;

type SplicedChunk =
  /** Null: it contains nothing new. */
  { readonly kind: 'chunk'; readonly chunk: Chunk | null } | Diverged;

/** Turns chunks of the second stream into chunks of the first. */
interface ChunkSplice {
  take(chunk: Chunk): SplicedChunk;
  /** At the end of the stream: a chunk with the text that was held back. */
  end(): SplicedChunk;
}

const NOTHING: SplicedChunk = { kind: 'chunk', chunk: null };

function createChunkSplice(transcript: Transcript, mode: SpliceMode): ChunkSplice {
  const text = createTextSplice(transcript, mode);
  let hasRole = transcript.hasRole;

  function usageOf(usage: unknown): unknown {
    if (mode.kind === 'repeated') return usage;
    const { tokens, prompt } = transcript;
    const sent = tokens.content + tokens.reasoning;
    return continuedUsage(usage, { sent, held: mode.heldTokens, prompt });
  }

  function takeChoice(choice: Chunk, rest: Chunk): SplicedChunk {
    const { delta: given, ...others } = choice;
    const delta = isObject(given) ? given : {};
    const isLast = endOf(others['finish_reason']) !== null;
    const taken = text.take(delta, isLast);
    if (taken.kind === 'diverged') return taken;

    const kept = keptOf(delta, { ...taken, isRoleNew: !hasRole });
    if (typeof kept?.['role'] === 'string') hasRole = true;
    if (kept === null && !isLast && !isObject(rest['usage'])) return NOTHING;
    // Log probabilities are those of the whole delta.
    const isChanged = taken.content !== contentOf(delta) && 'logprobs' in others;
    const logprobs = isChanged ? { logprobs: null } : {};
    const choices = [{ ...others, index: 0, ...logprobs, delta: kept ?? {} }];
    return { kind: 'chunk', chunk: { ...rest, choices } };
  }

  return {
    take(chunk) {
      const { choices, ...fields } = chunk;
      const usage = 'usage' in fields ? { usage: usageOf(fields['usage']) } : {};
      const rest = { ...transcript.head, ...withoutIdentity(fields), ...usage };
      if (!Array.isArray(choices)) return { kind: 'chunk', chunk: rest };
      if (choices.length === 0) return { kind: 'chunk', chunk: { ...rest, choices } };
      const choice = (choices as readonly unknown[]).find(isFirstChoice);
      return choice === undefined ? NOTHING : takeChoice(choice, rest);
    },
    end() {
      const last = text.end();
      if (last.kind === 'diverged') return last;
      if (last.content === '') return NOTHING;
      const choices = [{ index: 0, delta: { content: last.content }, finish_reason: null }];
      return { kind: 'chunk', chunk: { ...transcript.head, choices } };
    },
  };
}

/** Only answers with one choice are resumed. */
function isFirstChoice(choice: unknown): choice is Chunk {
  return isObject(choice) && (choice['index'] ?? 0) === 0;
}
