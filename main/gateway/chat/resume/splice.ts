import { isObject, isHeavyJson, parseJson, writeJson } from '../../../platform/json.ts';
import { endOf } from '../../protocols/chat/content.ts';
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
import {
  beyondText,
  callsOf,
  contentOf,
  type Delta,
  keptOf,
  reasoningOf,
  type SentCall,
  type ToldPrompt,
  type Transcript,
  withoutIdentity,
} from './transcript.ts';
import {
  type Continuation,
  createBlanksGate,
  createContinuingGate,
  createRepeatGate,
  OPEN_GATE,
  SHUT_GATE,
  type TextGate,
} from './text-gates.ts';
import { callPieceOf } from '../../protocols/chat/calls.ts';

type Spliced =
  | { readonly kind: 'frames'; readonly frames: Frames | null }
  /** It is not the same answer; nothing of it may be sent. */
  | { readonly kind: 'diverged'; readonly detail: string };

/** Turns the events of a second stream into the rest of the first. */
export type Splice = ReturnType<typeof createSplice>;

/**
 * The rest is chunks of a chat completion, also where the second stream is a message of the Messages API. Comments, errors
 * and `[DONE]` pass unchanged: the relay inspects the result.
 */
export function createSplice(transcript: Transcript, mode: SpliceMode) {
  const chunks = createChunkSplice(transcript, mode);
  const message = createMessageChunks();
  let diverged: Spliced | null = null;
  return {
    push(frames: Frames): Spliced {
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

type ChunkSplice = ReturnType<typeof createChunkSplice>;

const NOTHING: SplicedChunk = { kind: 'chunk', chunk: null };

function createChunkSplice(transcript: Transcript, mode: SpliceMode) {
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
    take(chunk: Chunk): SplicedChunk {
      const { choices, ...fields } = chunk;
      const usage = 'usage' in fields ? { usage: usageOf(fields['usage']) } : {};
      const rest = { ...transcript.head, ...withoutIdentity(fields), ...usage };
      if (!Array.isArray(choices)) return { kind: 'chunk', chunk: rest };
      if (choices.length === 0) return { kind: 'chunk', chunk: { ...rest, choices } };
      const choice = (choices as readonly unknown[]).find(isFirstChoice);
      return choice === undefined ? NOTHING : takeChoice(choice, rest);
    },
    end(): SplicedChunk {
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

export type SpliceMode =
  /** To continue the partial answer: its text, or its thought. */
  | ({
      readonly kind: 'continued';
      readonly part: 'text' | 'thought';
      readonly heldTokens: number;
    } & Continuation)
  /** The same request again: the answer must begin with what was sent. */
  | { readonly kind: 'repeated' };

interface Diverged {
  readonly kind: 'diverged';
  readonly detail: string;
}

interface NewParts {
  readonly kind: 'new';
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly Delta[];
}

interface TextSplice {
  /** `isLast`: the chunk has a finish reason. */
  take(delta: Delta, isLast: boolean): NewParts | Diverged;
  /** At the end of the stream: the text that was held back. */
  end(): NewParts | Diverged;
}

const differs = (how: string): Diverged => ({ kind: 'diverged', detail: `the new answer ${how}` });

function createTextSplice(transcript: Transcript, mode: SpliceMode): TextSplice {
  const { content, reasoning, calls } = gatesFor(transcript, mode);
  const isTextPast = () => content.isPast() && reasoning.isPast();
  const hasCalls = transcript.calls.length > 0;
  let said: 'nothing' | 'thoughts' | 'answer' = 'nothing';

  function takeTexts(delta: Delta): Pick<NewParts, 'content' | 'reasoning'> | string {
    const wasPast = content.isPast();
    const newReasoning = reasoning.take(reasoningOf(delta));
    const newContent = content.take(contentOf(delta));
    if (newReasoning === null || newContent === null)
      return mode.kind === 'repeated' ? 'differs from what was sent' : 'repeats what was sent';
    if (newReasoning !== '' && !wasPast) return 'reasons further than what was sent';
    if (newContent !== '' && !isTextPast()) return 'reasons less than what was sent';
    if (hasCalls && newReasoning + newContent !== '') return 'says more than what was sent';
    return { content: newContent, reasoning: newReasoning };
  }

  function noteKind(delta: Delta): void {
    if (contentOf(delta) !== '' || callsOf(delta).length > 0) said = 'answer';
    else if (reasoningOf(delta) !== '' && said === 'nothing') said = 'thoughts';
  }

  function end(): NewParts | Diverged {
    if (!isTextPast() || !calls.isPast()) return differs('ends before what was sent does');
    // An engine that takes the text for a thought, as SGLang did before sgl-project/sglang#17065.
    if (mode.kind === 'continued' && mode.part === 'text' && said === 'thoughts')
      return differs('reasons instead of continuing');
    return { kind: 'new', content: content.release(), reasoning: '', calls: [] };
  }

  return {
    end,
    take(delta, isLast) {
      const beyond = beyondText(delta);
      // The caller was sent strings, and clients cannot append a list to a string.
      if (beyond === 'content_parts') return differs('comes as a list of parts');
      const texts = takeTexts(delta);
      if (typeof texts === 'string') return differs(texts);
      noteKind(delta);
      const isOver = isLast || beyond !== null;
      const pieces = callsOf(delta);
      const isTextOver = isOver || pieces.length > 0;
      if (isTextOver && !isTextPast()) return differs('ends before what was sent does');
      const held = isTextOver ? content.release() : '';
      const newCalls = calls.take(pieces);
      if (newCalls === null) return differs('calls other tools than what was sent');
      const last = isOver ? end() : null;
      if (last?.kind === 'diverged') return last;
      return { kind: 'new', ...texts, content: texts.content + held, calls: newCalls };
    },
  };
}

interface Gates {
  readonly content: TextGate;
  readonly reasoning: TextGate;
  readonly calls: CallsGate;
}

function gatesFor(transcript: Transcript, mode: SpliceMode): Gates {
  if (mode.kind === 'repeated') {
    return {
      content: createRepeatGate(transcript.content),
      reasoning: createRepeatGate(transcript.reasoning),
      calls: createCallsGate(transcript.calls),
    };
  }
  const calls = createCallsGate([]);
  if (mode.part === 'thought')
    return { content: OPEN_GATE, reasoning: createBlanksGate(mode.blanks), calls };
  // Reasoning comes before the text, which has begun.
  return { content: createContinuingGate(mode, transcript.content), reasoning: SHUT_GATE, calls };
}

type CallsGate = ReturnType<typeof createCallsGate>;

/** A call that was sent keeps the id that the caller has. */
function createCallsGate(sent: readonly SentCall[]) {
  const calls = sent.map((call) => ({ ...call, gate: createRepeatGate(call.arguments) }));
  const byIndex = new Map(calls.map((call) => [call.index, call]));
  /** Of those without an index, which come whole. */
  let wholeCalls = 0;
  /** Those before it are past. */
  let first = 0;

  function callAt(index: SentCall['index']) {
    if (index !== null) return byIndex.get(index);
    const whole = calls[wholeCalls];
    wholeCalls += 1;
    return whole;
  }

  function isPast(): boolean {
    while (calls[first]?.gate.isPast() === true) first += 1;
    return first === calls.length;
  }

  function rest(piece: Delta): readonly Delta[] | null {
    const { index, name, arguments: json } = callPieceOf(piece);
    const call = callAt(index);
    if (call === undefined) return isPast() ? [piece] : null;
    if (name !== '' && name !== call.name) return null;
    const added = call.gate.take(json);
    if (added === null || (added !== '' && index === null)) return null;
    return added === '' ? [] : [{ index, function: { arguments: added } }];
  }

  return {
    /** Whether everything that must be repeated has been. */
    isPast,
    /** The pieces to send; null if a call differs. */
    take(pieces: readonly Delta[]): readonly Delta[] | null {
      const kept: Delta[] = [];
      for (const piece of pieces) {
        const added = rest(piece);
        if (added === null) return null;
        kept.push(...added);
      }
      return kept;
    },
  };
}

type Json = Readonly<Record<string, unknown>>;

/** Estimates of the tokens that were sent before, and of those among them that the continuation's prompt held. */
interface Counted {
  readonly sent: number;
  readonly held: number;
  /** The caller's prompt, where the first stream has told it. */
  readonly prompt: ToldPrompt | null;
}

function continuedUsage(usage: unknown, { sent, held, prompt: told }: Counted): unknown {
  if (!isObject(usage)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number') return usage;
  const promptTokens = told?.tokens ?? Math.max(0, prompt - held);
  const completionTokens = completion + sent;
  return {
    ...usage,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...cachedOf(usage, promptTokens, told),
  };
}

/** A cache holds the beginning of a prompt, so what it held beyond the caller's prompt is of the text. */
function cachedOf(usage: Json, promptTokens: number, told: ToldPrompt | null): Json {
  const { prompt_tokens_details: details, prompt_cache_hit_tokens: hit } = usage;
  const cached = isObject(details) ? details['cached_tokens'] : undefined;
  const ofPrompt = (tokens: number) => told?.cached ?? Math.min(tokens, promptTokens);
  return {
    ...(isObject(details) &&
      typeof cached === 'number' && {
        prompt_tokens_details: { ...details, cached_tokens: ofPrompt(cached) },
      }),
    // DeepSeek's names, which make up the prompt together.
    ...(typeof hit === 'number' && {
      prompt_cache_hit_tokens: ofPrompt(hit),
      prompt_cache_miss_tokens: promptTokens - ofPrompt(hit),
    }),
  };
}
