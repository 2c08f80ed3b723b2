import type { Knowledge } from '../memory/memory.ts';
import type { TextRate } from '../memory/topics.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { lengthOf, type PromptLength } from '../protocols/least-tokens.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { unreadBytes } from './readings.ts';

/* Whether a prompt fits the window of a model of one's own, and engines that cut prompts without a word. */

/** `once`: it may have been an accident; `again`: at the same length, so that this is the engine's window. */
export type Cut = 'once' | 'again';

/** Below it a rate says nothing. */
const MIN_SAMPLES = 5;
/** Shorter requests are mostly template. */
const MIN_BYTES = 1024;
const NEW = 0.05;
/** How much shorter, for its characters, a prompt may be than any that the rate was learnt from. */
const SHARE = 0.8;
/** A reported length below this share of what it must have been is no error of the estimate. */
const FAR_BELOW = 0.75;
/** The smallest window that an engine is set to by default, 2,048, of which some leave a little to the answer. */
const MIN_WINDOW = 2000;
/** Two reports that differ by less are the same. */
const SAME = 0.02;
/** Two prompts that differ by less are as long as each other. */
const ALIKE = 0.05;

/** The models that were caught being sent a part of prompts only. */
export const cutWindowsIn = (known: Knowledge) =>
  known.entries('window').map(({ key, value: { tokens } }) => ({ model: String(key), tokens }));

/** In tokens; what the engine says (`declared`), or less if it was caught cutting; null while unknown. */
export function windowAt(known: Knowledge, model: string, declared: number | null): number | null {
  const caught = known.get('window', model);
  // Another window has been set since.
  if (caught === null || caught.declared !== declared) return declared;
  return Math.min(caught.tokens, declared ?? caught.tokens);
}

/** Whether the prompt surely does not fit a model's window; notes that it does not. */
export function exceedsWindow(
  known: Knowledge,
  { model, declared }: { readonly model: string; readonly declared: number | null },
  request: ChatRequest,
): boolean {
  const window = windowAt(known, model, declared);
  // No token is shorter than a byte.
  if (window === null || request.bytes.length <= window) return false;
  const length = lengthOf(request);
  const isTooLong = length !== null && leastTokens(length, known.get('text_rate', model)) > window;
  if (isTooLong) known.set('too_long', model, true);
  return isTooLong;
}

/**
 * Takes what one's own engine reports of a prompt's length; returns whether it has cut it. Ollama before 0.2 and 0.30.0
 * leave out of the report what they had in their cache (ollama/ollama#2068, #16414), which is no cut.
 */
export function noteLength(known: Knowledge, call: ReadCall, tokens: number): Cut | null {
  const { model, request } = call;
  // Most requests: too short to have been cut, or to tell a rate.
  const isShort = request.bytes.length < MIN_BYTES && tokens < MIN_WINDOW;
  const length = isShort || tokens === 0 ? null : lengthOf(request);
  if (length === null) return null;
  const least = leastTokens(length, known.get('text_rate', model));
  if (tokens < FAR_BELOW * least) return cutAt(known, call, tokens, least);
  if (request.bytes.length >= MIN_BYTES) learnTextRate(known, model, length, tokens);
  if (tokens > longestAt(known, model)) known.set('longest', model, { tokens });
  // It reads more than was thought.
  if (tokens > (known.get('window', model)?.tokens ?? Infinity)) known.delete('window', model);
  return null;
}

type ReadCall = Pick<UpstreamCall, 'model' | 'request' | 'window' | 'prefix'>;

const longestAt = (known: Knowledge, model: string) => known.get('longest', model)?.tokens ?? 0;

function cutAt(known: Knowledge, call: ReadCall, tokens: number, least: number): Cut | null {
  const { model, window: declared, request, prefix } = call;
  const promptBytes = request.bytes.length;
  const longest = longestAt(known, model);
  if (tokens < Math.max(MIN_WINDOW, longest / 2, (1 - SAME) * (declared ?? 0))) return null;
  const newBytes = unreadBytes(promptBytes, prefix);
  // No token is shorter than a byte: then it was not only the rest that it reported.
  const isMoreThanNew = tokens > newBytes;
  // What it has read before explains what is missing.
  if (!isMoreThanNew && least - tokens <= promptBytes - newBytes) return null;
  const before = known.get('cut', model);
  if (before === null || !isWithin(SAME, before.tokens, tokens)) {
    known.set('cut', model, { tokens, promptBytes });
    return 'once';
  }
  // A cut leaves the same of prompts of every length.
  const isAlike = !isMoreThanNew && isWithin(ALIKE, before.promptBytes, promptBytes);
  if (isAlike || tokens < (1 - SAME) * longest) return 'once';
  known.set('window', model, { tokens: Math.max(before.tokens, tokens), declared });
  return 'again';
}

const isWithin = (share: number, a: number, b: number) => Math.abs(a - b) <= share * Math.max(a, b);

function learnTextRate(
  known: Knowledge,
  model: string,
  { usualTokens }: PromptLength,
  tokens: number,
): void {
  if (usualTokens === 0) return;
  const before = known.get('text_rate', model) ?? NO_RATE;
  known.set('text_rate', model, withSample(before, tokens / usualTokens));
}

/** The fewest that a prompt can have: by its words, or by what others had for their characters. */
function leastTokens(length: PromptLength, rate: TextRate | null): number {
  // Never more than is usual: the next prompt may be prose, where those before were figures or long lists of tools.
  const byRate = rate === null ? 0 : Math.min(1, lowestOf(rate)) * length.usualTokens;
  return Math.max(Math.floor(byRate), length.leastTokens);
}

const NO_RATE: TextRate = { samples: 0, mean: 0, variance: 0 };

function withSample({ samples, mean, variance }: TextRate, rate: number): TextRate {
  const weight = Math.max(NEW, 1 / (samples + 1));
  const deviation = rate - mean;
  return {
    samples: samples + 1,
    mean: mean + weight * deviation,
    variance: (1 - weight) * (variance + weight * deviation * deviation),
  };
}

/** Three standard deviations below the mean, and a margin for texts of another kind. */
function lowestOf({ samples, mean, variance }: TextRate): number {
  if (samples < MIN_SAMPLES) return 0;
  return SHARE * Math.max(0, mean - 3 * Math.sqrt(variance));
}
