import { isObject, memberOf, parseJson, writeJson } from '../../../platform/json.ts';
import { endOf } from '../../protocols/chat/chunks.ts';
import { dataOf, eventsOf, eventWith, type Frames, framesOf } from '../../protocols/sse.ts';
import {
  contentOf,
  type Delta,
  hasParts,
  isBeyondText,
  keptOf,
  reasoningOf,
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

type SpliceResult =
  | { readonly kind: 'frames'; readonly frames: Frames }
  /** It is not the same answer; nothing of it may be sent. */
  | { readonly kind: 'diverged'; readonly detail: string };

/** Turns the events of a second stream, a chat completion, into the rest of the first. */
export type Splice = ReturnType<typeof createSplice>;

/**
 * Comments and `[DONE]` pass unchanged. The relay has looked at the events before: there are no errors among them, and
 * before `[DONE]` comes a finish reason.
 */
export function createSplice(transcript: Transcript, mode: SpliceMode) {
  const splice = createChunkSplice(transcript, mode);
  let diverged: SpliceResult | null = null;
  return {
    push(frames: Frames): SpliceResult {
      const out: Buffer[] = [];
      for (const event of eventsOf(frames)) {
        if (diverged !== null) return diverged;
        const spliced = spliceEvent(event, splice);
        if (typeof spliced === 'string') diverged = { kind: 'diverged', detail: spliced };
        else out.push(...spliced);
      }
      return diverged ?? { kind: 'frames', frames: framesOf(out) };
    },
  };
}

/** How the new answer differs from the one that it should be the rest of. */
type Difference = string;

/** The events that replace one of the second stream. */
function spliceEvent(event: Buffer, splice: ChunkSplice): readonly Buffer[] | Difference {
  const data = dataOf(event)?.trim() ?? '';
  if (data === '' || data === '[DONE]') return [event];
  const value = parseJson(data);
  // The relay drops what is no JSON.
  if (!isObject(value)) return differs('has an event of too many values');
  const chunk = splice(value);
  if (typeof chunk === 'string') return chunk;
  if (chunk === null) return [];
  const json = writeJson(chunk);
  return json === null ? differs('is nested too deep') : [eventWith(event, json)];
}

type Chunk = Readonly<Record<string, unknown>>;

type ChunkSplice = ReturnType<typeof createChunkSplice>;

/** A chunk of null contains nothing new. */
function createChunkSplice(transcript: Transcript, mode: SpliceMode) {
  const newTexts = createTextSplice(transcript, mode);
  let hasRole = transcript.hasRole;

  function usageOf(usage: unknown): unknown {
    if (mode.kind === 'repeated') return usage;
    const { tokens } = transcript;
    return continuedUsage(usage, tokens.content + tokens.reasoning, mode.heldTokens);
  }

  function takeChoice(choice: Chunk, rest: Chunk): Chunk | Difference | null {
    const { delta: given, ...others } = choice;
    const delta = isObject(given) ? given : {};
    const isLast = endOf(others['finish_reason']) !== null;
    const taken = newTexts(delta, isLast);
    if (typeof taken === 'string') return taken;

    const kept = keptOf(delta, { ...taken, isRoleNew: !hasRole });
    if (typeof kept?.['role'] === 'string') hasRole = true;
    if (kept === null && !isLast && !isObject(rest['usage'])) return null;
    // Log probabilities are those of the whole delta.
    const isChanged = taken.content !== contentOf(delta) && 'logprobs' in others;
    const logprobs = isChanged ? { logprobs: null } : {};
    return { ...rest, choices: [{ ...others, index: 0, ...logprobs, delta: kept ?? {} }] };
  }

  return (chunk: Chunk): Chunk | Difference | null => {
    const { choices, ...fields } = chunk;
    const usage = 'usage' in fields ? { usage: usageOf(fields['usage']) } : {};
    const rest = { ...transcript.head, ...withoutIdentity(fields), ...usage };
    if (!Array.isArray(choices) || choices.length === 0) return { ...rest, choices };
    const choice = (choices as readonly unknown[]).find(isFirstChoice);
    return choice === undefined ? null : takeChoice(choice, rest);
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

/** What of a delta is new. */
interface NewTexts {
  readonly content: string;
  readonly reasoning: string;
}

const differs = (how: string): Difference => `the new answer ${how}`;

function createTextSplice(transcript: Transcript, mode: SpliceMode) {
  const { content, reasoning } = gatesFor(transcript, mode);
  const isPast = () => content.isPast() && reasoning.isPast();
  let said: 'nothing' | 'thoughts' | 'answer' = 'nothing';

  function takeTexts(delta: Delta): NewTexts | Difference {
    const wasPast = content.isPast();
    const newReasoning = reasoning.take(reasoningOf(delta));
    const newContent = content.take(contentOf(delta));
    if (newReasoning === null || newContent === null)
      return differs(`${mode.kind === 'repeated' ? 'differs from' : 'repeats'} what was sent`);
    if (newReasoning !== '' && !wasPast) return differs('reasons further than what was sent');
    if (newContent !== '' && !isPast()) return differs('reasons less than what was sent');
    return { content: newContent, reasoning: newReasoning };
  }

  /** At the end of the text: what of it was held back. */
  function end(): NewTexts | Difference {
    if (!isPast()) return differs('ends before what was sent does');
    // An engine that takes the text for a thought, as SGLang did before sgl-project/sglang#17065.
    if (mode.kind === 'continued' && mode.part === 'text' && said === 'thoughts')
      return differs('reasons instead of continuing');
    return { content: content.release(), reasoning: '' };
  }

  /** `isLast`: the chunk has a finish reason. */
  return (delta: Delta, isLast: boolean): NewTexts | Difference => {
    // The caller was sent strings, and clients cannot append a list to a string.
    if (hasParts(delta)) return differs('comes as a list of parts');
    const texts = takeTexts(delta);
    if (typeof texts === 'string') return texts;
    const isBeyond = isBeyondText(delta);
    if (contentOf(delta) !== '' || isBeyond) said = 'answer';
    else if (reasoningOf(delta) !== '' && said === 'nothing') said = 'thoughts';
    const last = isLast || isBeyond ? end() : NOTHING_MORE;
    if (typeof last === 'string') return last;
    return { ...texts, content: texts.content + last.content };
  };
}

const NOTHING_MORE: NewTexts = { content: '', reasoning: '' };

function gatesFor(
  { content, reasoning }: Transcript,
  mode: SpliceMode,
): Readonly<Record<keyof NewTexts, TextGate>> {
  if (mode.kind === 'repeated')
    return { content: createRepeatGate(content), reasoning: createRepeatGate(reasoning) };
  if (mode.part === 'thought')
    return { content: OPEN_GATE, reasoning: createBlanksGate(mode.blanks) };
  // Reasoning comes before the text, which has begun.
  return { content: createContinuingGate(mode, content), reasoning: SHUT_GATE };
}

/** With the tokens that were sent before; those of them that the continuation's prompt held are not of the caller's. */
function continuedUsage(usage: unknown, sent: number, held: number): unknown {
  if (!isObject(usage)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number') return usage;
  const prompt_tokens = Math.max(0, prompt - held);
  const completion_tokens = completion + sent;
  const total_tokens = prompt_tokens + completion_tokens;
  const counted = { ...usage, prompt_tokens, completion_tokens, total_tokens };
  const { prompt_tokens_details: details } = usage;
  const cached = memberOf(details, 'cached_tokens');
  if (!isObject(details) || typeof cached !== 'number') return counted;
  // A cache holds the beginning of a prompt, so what it held beyond the caller's prompt is of the text.
  const cached_tokens = Math.min(cached, prompt_tokens);
  return { ...counted, prompt_tokens_details: { ...details, cached_tokens } };
}
