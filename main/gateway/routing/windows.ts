import type { Clock } from '../../platform/clock.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { lengthOf } from '../protocols/least-tokens.ts';
import {
  circuitIdOf,
  declaredWindow,
  localModel,
  type LocalTarget,
} from '../upstream/upstreams.ts';

/* Whether a prompt fits the window of a model of one's own, and engines that cut prompts without a word. */

export type Windows = ReturnType<typeof createWindows>;

export interface CutWindow {
  readonly model: string;
  readonly tokens: number;
}

/** A prompt of which an engine says that it had far fewer tokens than it must have. */
export interface CutPrompt {
  readonly id: string;
  readonly model: string;
  readonly readTokens: number;
  readonly leastTokens: number;
}

/** How long a prompt was, as one of the owner's engines reports it. */
export interface PromptReport {
  /** Of the circuit of the engine or machine. */
  readonly id: string;
  readonly model: string;
  readonly request: ChatRequest;
  readonly inputTokens: number;
}

/** `once`: it may have been an accident; `again`: at the same length, so that this is the engine's window. */
export type Cut = 'once' | 'again';

/** Tokens for each that is usual, exponentially weighted. */
interface Rate {
  readonly samples: number;
  readonly mean: number;
  readonly variance: number;
}

/** Below it a rate says nothing. */
const MIN_SAMPLES = 5;
/** Shorter requests are mostly template. */
const MIN_BYTES = 1024;
const NEW = 0.05;
/** How much shorter, for its characters, a prompt may be than any that the rate was learnt from. */
const SHARE = 0.8;
/** A reported length below this share of what it must have been is no error of the estimate. */
const FAR_BELOW = 0.75;
/** No engine is set to less. */
const MIN_WINDOW = 512;
/** Two reports that differ by less are the same. */
const SAME = 0.02;
/** The owner may have set a larger window meanwhile. */
const TAUGHT_MS = 3_600_000;
/** Callers choose model names. */
const MAX_MODELS = 500;

interface Taught {
  readonly tokens: number;
  /** What the engine said of the window then: another value ends what was taught. */
  readonly declared: number | null;
  readonly untilTicks: number;
}

export function createWindows(clock: Clock, onCut: (cut: CutPrompt) => void = () => {}) {
  const rates = new Map<string, Rate>();
  /**
   * The longest prompt that was read, by engine and model. Ollama before 0.2 and 0.30.0 leave out of a report what they had
   * in their cache (ollama/ollama#2068, #16414): what they read of a first prompt shows that their window is larger.
   */
  const longest = new Map<string, Taught>();
  /** The last report that was too short, by engine and model. */
  const suspects = new Map<string, number>();
  const taught = new Map<string, Taught>();

  const keyOf = (id: string, model: string) => `${id}\n${model}`;

  function learn(model: string, { bytes, members }: ChatRequest, tokens: number): void {
    const { usualTokens } = lengthOf(bytes, members);
    if (bytes.length < MIN_BYTES || usualTokens === 0) return;
    bounded(rates);
    rates.set(model, withSample(rates.get(model) ?? NO_RATE, tokens / usualTokens));
  }

  function noteRead(key: string, tokens: number, declared: number | null): void {
    if (tokens < mostAt(key, declared)) return;
    bounded(longest);
    longest.set(key, { tokens, declared, untilTicks: clock.ticks() + TAUGHT_MS });
  }

  function mostAt(key: string, declared: number | null): number {
    const known = longest.get(key);
    const isCurrent = known?.declared === declared && known.untilTicks > clock.ticks();
    return isCurrent ? known.tokens : 0;
  }

  function least(model: string, request: ChatRequest): number {
    const { bytes, members } = request;
    const rate = rates.get(model);
    const { leastTokens, usualTokens } = lengthOf(bytes, members);
    // Never more than is usual: the next prompt may be prose, where those before were figures or long lists of tools.
    const byRate = rate === undefined ? 0 : Math.min(1, lowestOf(rate)) * usualTokens;
    return Math.max(Math.floor(byRate), leastTokens);
  }

  function windowAt(target: LocalTarget, model: string): number | null {
    const declared = declaredWindow(target, model);
    const known = taught.get(keyOf(circuitIdOf(target), model));
    const isCurrent =
      known !== undefined && known.untilTicks > clock.ticks() && known.declared === declared;
    if (!isCurrent) return declared;
    return Math.min(known.tokens, declared ?? known.tokens);
  }

  return {
    /** Whether the prompt surely does not fit the window of the model that the target would be sent. */
    exceeds(target: LocalTarget, request: ChatRequest) {
      const { bytes } = request;
      // No token is shorter than a byte.
      if (taught.size === 0 && bytes.length <= (smallestWindow(target) ?? Infinity)) return false;
      const model = localModel(target, request);
      if (model === null) return false;
      const window = windowAt(target, model);
      if (window === null || bytes.length <= window || !isMeasurable(request)) return false;
      return least(model, request) > window;
    },
    /** Takes in what an engine said of a prompt's length; returns whether it has cut it. */
    told({ id, model, request, inputTokens }: PromptReport, declared: number | null): Cut | null {
      // Most requests: too short to have been cut, or to tell a rate.
      const isShort = request.bytes.length < MIN_BYTES && inputTokens < MIN_WINDOW;
      if (isShort || inputTokens === 0 || !isMeasurable(request)) return null;
      const lowest = least(model, request);
      const key = keyOf(id, model);
      if (inputTokens >= FAR_BELOW * lowest) {
        learn(model, request, inputTokens);
        noteRead(key, inputTokens, declared);
        // It reads more than was thought.
        if (inputTokens > (taught.get(key)?.tokens ?? Infinity)) taught.delete(key);
        return null;
      }
      const most = mostAt(key, declared);
      if (inputTokens < MIN_WINDOW || inputTokens < most / 2) return null;
      const before = suspects.get(key);
      bounded(suspects);
      suspects.set(key, inputTokens);
      onCut({ id, model, readTokens: inputTokens, leastTokens: lowest });
      const isSame = before !== undefined && Math.abs(before - inputTokens) <= SAME * before;
      if (!isSame || inputTokens < (1 - SAME) * most) return 'once';
      bounded(taught);
      const tokens = Math.max(before, inputTokens);
      taught.set(key, { tokens, declared, untilTicks: clock.ticks() + TAUGHT_MS });
      return 'again';
    },
    /** In tokens; what the engine says, or less if it was caught cutting; null while unknown. */
    windowAt,
    /** The models that were caught being sent a part of prompts only. */
    cuts: (): readonly CutWindow[] =>
      [...taught].flatMap(([key, { tokens, untilTicks }]) =>
        untilTicks > clock.ticks() ? [{ model: key.slice(key.indexOf('\n') + 1), tokens }] : [],
      ),
    forget(id: string) {
      for (const known of [suspects, taught, longest])
        for (const key of known.keys()) if (key.startsWith(`${id}\n`)) known.delete(key);
    },
  };
}

const NO_RATE: Rate = { samples: 0, mean: 0, variance: 0 };

export function withSample({ samples, mean, variance }: Rate, rate: number): Rate {
  const weight = Math.max(NEW, 1 / (samples + 1));
  const deviation = rate - mean;
  return {
    samples: samples + 1,
    mean: mean + weight * deviation,
    variance: (1 - weight) * (variance + weight * deviation * deviation),
  };
}

/** Three standard deviations below the mean, and a margin for texts of another kind. */
function lowestOf({ samples, mean, variance }: Rate): number {
  if (samples < MIN_SAMPLES) return 0;
  return SHARE * Math.max(0, mean - 3 * Math.sqrt(variance));
}

/** Pictures and recordings have tokens that no byte tells. */
function isMeasurable(request: ChatRequest): boolean {
  const { endpoint, bytes, needs } = request;
  const isText =
    !endpoint.keepsModel && endpoint.body === 'json' && endpoint.estimate === undefined;
  return isText && !needs().vision && !bytes.includes('"input_audio"');
}

function smallestWindow({ facts = [] }: LocalTarget): number | null {
  let smallest: number | null = null;
  for (const { context_length: length } of facts)
    if (length !== null && (smallest === null || length < smallest)) smallest = length;
  return smallest;
}

function bounded(map: Map<string, unknown>): void {
  if (map.size >= MAX_MODELS) map.clear();
}
