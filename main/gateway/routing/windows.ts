import type { EngineKind } from '#shared/engines.ts';
import { LARGE_WINDOW, type ModelFacts } from '#shared/models.ts';
import type { WindowReport } from '#shared/status.ts';
import type { EngineAddress } from '../../engines/adapters/probe.ts';
import { largerWindowOf } from '../../engines/detect.ts';
import { copiedFrom, copyName } from '../../engines/window-copy.ts';
import type { Config } from '../../config/schema.ts';
import { memoizeLast } from '../../platform/memoize.ts';
import {
  askedNames,
  circuitIdOf,
  type LocalChoice,
  type LocalSources,
  type LocalTarget,
  targetsOf,
  aliasOf,
  namedAliases,
} from '../upstream/upstreams.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { TextRate } from '../memory/topics.ts';
import { unreadShare } from '../protocols/prompt-chain.ts';
import { lengthOf, type PromptLength } from '../protocols/prompt-length.ts';
import type { LocalForm, UpstreamCall } from '../upstream/call.ts';

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

/** Whether the prompt surely does not fit its model's window; notes that it does not. */
export function exceedsWindow(option: LocalForm & { readonly known: Knowledge }): boolean {
  const { known, model, facts, form } = option;
  if (model === null) return false;
  const { request } = form;
  const window = windowAt(known, model, facts?.context_length ?? null);
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
  const newBytes = promptBytes * unreadShare(prefix);
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

/* Models whose window is too small for the prompts that come, and their copies with a larger one. */

/** An engine that this gateway can tell something itself. */
export interface OwnEngine {
  readonly kind: EngineKind;
  readonly address: EngineAddress;
  /** The memory of its GPUs; null while unknown. */
  readonly memoryBytes: number | null;
}

/** Null for a machine that only its own agent reaches. */
export type EngineAt = (provider: string | null) => OwnEngine | null;

interface Copy {
  readonly model: string;
  readonly copy: string;
}

/** The copies that aliases lead to from the models that they were made of. */
export const copiesIn = memoizeLast((pairs: readonly string[]): readonly Copy[] => {
  const found = new Map<string, Copy>();
  for (const [name, copy] of namedAliases(pairs)) {
    const model = copiedFrom(copy)?.model;
    if (model !== undefined && askedNames(model).includes(name)) found.set(copy, { model, copy });
  }
  return [...found.values()];
});

/** The aliases with a copy in place of its model. */
export function withCopy(pairs: readonly string[], { model, copy }: Copy): readonly string[] {
  const names = askedNames(model);
  const others = pairs.map(aliasOf).filter(({ name }) => !names.includes(name));
  const moved = others.map(
    (each) => `${each.name}=${names.includes(each.model) ? copy : each.model}`,
  );
  return [...moved, ...names.map((name) => `${name}=${copy}`)];
}

/** The aliases with a model in place of its copy. */
export function withoutCopy(pairs: readonly string[], { model, copy }: Copy): readonly string[] {
  const names = askedNames(model);
  return pairs
    .map(aliasOf)
    .filter((each) => !(each.model === copy && names.includes(each.name)))
    .map((each) => `${each.name}=${each.model === copy ? model : each.model}`);
}

/** Picks what serves `local`. Puts each copy before its model, so that names that an engine does not have go to it as well. */
export const preferringCopies =
  ({ fixed, pickMachines }: LocalSources, config: () => Config) =>
  (): LocalChoice => {
    const copies = copiesIn(config().routing.modelAliases);
    const choice = fixed.choice ?? pickMachines();
    if (copies.length === 0 || choice.kind === 'none') return choice;
    const preferring = (target: LocalTarget): LocalTarget => {
      return { ...target, facts: inOrder(target.facts, copies) };
    };
    return choice.kind === 'target'
      ? { ...choice, target: preferring(choice.target) }
      : { ...choice, targets: choice.targets.map(preferring) };
  };

function inOrder(facts: readonly ModelFacts[], copies: readonly Copy[]): readonly ModelFacts[] {
  let ordered = facts;
  for (const { model, copy } of copies) {
    const made = ordered.find(({ id }) => id === copy);
    const at = ordered.findIndex(({ id }) => id === model);
    if (made === undefined || at === -1 || ordered.indexOf(made) < at) continue;
    const others = ordered.filter((each) => each !== made);
    ordered = [...others.slice(0, at), made, ...others.slice(at)];
  }
  return ordered;
}

interface WindowDeps {
  readonly memory: Memory;
  readonly engineAt: EngineAt;
  readonly pairs: readonly string[];
}

export function windowReports(choice: LocalChoice, deps: WindowDeps): readonly WindowReport[] {
  const copies = copiesIn(deps.pairs);
  const made = copies.map(({ model, copy }): WindowReport => {
    return { model, tokens: copiedFrom(copy)?.tokens ?? 0, remedy: { kind: 'made', copy } };
  });
  const hasCopy = (model: string) => copies.some((each) => askedNames(each.model).includes(model));
  const ids = new Set(deps.memory.ids('too_long'));
  const small = targetsOf(choice)
    .filter((target) => ids.has(circuitIdOf(target)))
    .flatMap((target) => smallAt(target, deps))
    .filter(({ model }) => !hasCopy(model));
  // Several machines may have the model.
  return [...made, ...new Map(small.map((each) => [each.model, each])).values()];
}

function smallAt(target: LocalTarget, { memory, engineAt }: WindowDeps): readonly WindowReport[] {
  const known = memory.of(circuitIdOf(target));
  const engine = engineAt(target.provider);
  return known.entries('too_long').flatMap(({ key }): readonly WindowReport[] => {
    const facts = target.facts.find(({ id }) => askedNames(id).includes(String(key)));
    const tokens = facts === undefined ? null : windowAt(known, facts.id, facts.context_length);
    if (facts === undefined || tokens === null || tokens >= LARGE_WINDOW) return [];
    const { id: model, max_context_length: most = LARGE_WINDOW } = facts;
    // It was made with no more.
    if (tokens >= most || copiedFrom(model) !== null) return [];
    const larger = engine?.kind === 'ollama' ? largerTokens(facts, tokens, engine) : null;
    if (larger !== null) {
      const isMost = larger === facts.max_context_length;
      return [{ model, tokens, remedy: { kind: 'copy', tokens: larger, isMost } }];
    }
    const text = (engine === null ? null : largerWindowOf(engine.kind, most)) ?? ELSEWHERE;
    return [{ model, tokens, remedy: { kind: 'setting', text } }];
  });
}

const ELSEWHERE = 'Give its engine a larger context window.';

/** The tokens of a copy: 64k, or as many as model and memory take; null if that is no more than now, or not known. */
function largerTokens(
  { max_context_length: most, context_token_bytes: each = 0, size_bytes: size }: ModelFacts,
  tokens: number,
  { memoryBytes }: OwnEngine,
): number | null {
  if (most === undefined) return null;
  const fits = (count: number) => memoryBytes === null || (size ?? 0) + each * count <= memoryBytes;
  const counts = [LARGE_WINDOW, LARGE_WINDOW / 2].map((count) => Math.min(count, most));
  return counts.find((count) => count > tokens && fits(count)) ?? null;
}

/** The engine and the tokens for a copy of a model; null if none can be made. */
export function copyFor(
  model: string,
  choice: LocalChoice,
  deps: WindowDeps,
): { readonly engine: OwnEngine; readonly made: Copy; readonly tokens: number } | null {
  const report = windowReports(choice, deps).find((each) => each.model === model);
  const engine = ollamaWith(model, choice, deps.engineAt);
  if (report?.remedy.kind !== 'copy' || engine === null) return null;
  const { tokens } = report.remedy;
  return { engine, made: { model, copy: copyName(model, tokens) }, tokens };
}

/** The Ollama within reach that has a model; null if there is none. */
export function ollamaWith(model: string, choice: LocalChoice, engineAt: EngineAt) {
  const having = targetsOf(choice).filter(({ models }) => models.includes(model));
  const engines = having.map(({ provider }) => engineAt(provider));
  return engines.find((engine) => engine?.kind === 'ollama') ?? null;
}
