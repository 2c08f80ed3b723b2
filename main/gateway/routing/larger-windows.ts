import { LARGE_WINDOW, type ModelFacts } from '#shared/models.ts';
import type { WindowReport } from '#shared/status.ts';
import type { EngineKind } from '../../engines/adapters/engine-view.ts';
import type { EngineAddress } from '../../engines/adapters/probe.ts';
import { largerWindowOf } from '../../engines/detect.ts';
import { copiedFrom, copyName } from '../../engines/window-copy.ts';
import type { Config } from '../../config/schema.ts';
import type { Memory } from '../memory/memory.ts';
import { aliasOf, namedAliases } from '../protocols/aliases.ts';
import {
  askedNames,
  circuitIdOf,
  type LocalChoice,
  type LocalTarget,
  targetsOf,
} from '../upstream/upstreams.ts';
import { windowAt } from './windows.ts';

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
export function copiesIn(pairs: readonly string[]): readonly Copy[] {
  const found = new Map<string, Copy>();
  for (const [name, copy] of namedAliases(pairs)) {
    const model = copiedFrom(copy)?.model;
    if (model !== undefined && askedNames(model).includes(name)) found.set(copy, { model, copy });
  }
  return [...found.values()];
}

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

/** Puts each copy before its model, so that names that an engine does not have go to it as well. */
export const preferringCopies =
  (pick: () => LocalChoice, config: () => Config) => (): LocalChoice => {
    const pairs = config().routing.modelAliases;
    const copies = pairs.length === 0 ? [] : copiesIn(pairs);
    const choice = pick();
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
    const text = (engine === null ? null : largerWindowOf(engine.kind)) ?? ELSEWHERE;
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
