import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { CancelSignal } from '../../platform/clock.ts';
import { isAliasedModel } from '../protocols/aliases.ts';
import type { PromptChain } from '../protocols/prompt-chain.ts';
import {
  type ChatCall,
  type LocalChoice,
  localCall,
  modelAt,
  remoteCall,
  targetsOf,
  type UpstreamCall,
} from '../upstream/call.ts';
import {
  circuitIdOf,
  hasModel,
  type LocalTarget,
  listsModel,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { type BalancingDeps, type LocalPool, localPool, type SingleCall } from './local-pool.ts';
import type { RequestObserver } from './observer.ts';
import { type Skip, skipped } from './outcomes.ts';
import { cachedPrefix, readingRate } from './readings.ts';
import { closestOf, formForLocal, formForRemote } from './request-form.ts';

/** A request to be answered. It is fixed at its start, so that a change of settings affects only later ones. */
export interface RoutedRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
  /** The circuits' epoch at the moment when `config` and `remotes` were read. */
  readonly epoch: number;
  /** Aborted when the caller leaves. */
  readonly signal: CancelSignal;
  readonly observer: RequestObserver;
}

/** What decides where a request may go. */
type RequestFacts = Pick<RoutedRequest, 'call' | 'config' | 'remotes'>;

export interface CandidateDeps extends BalancingDeps {
  readonly pickLocal: () => LocalChoice;
  /** Budgets of money: an upstream whose budget is used up is not called. */
  readonly budgets: { readonly isSpent: (id: UpstreamId, config: Config) => boolean };
}

/** An upstream that a request may go to, or why it may not. */
export type Candidate =
  | Skip
  | SingleCall
  | { readonly kind: 'pool'; readonly upstream: 'local'; readonly pool: LocalPool };

/** In routing order. */
export function candidatesFor(request: RequestFacts, deps: CandidateDeps): readonly Candidate[] {
  return orderFor(request, deps.pickLocal).map((id) =>
    id === 'local' ? localCandidate(request, deps) : remoteCandidate(id, request, deps),
  );
}

function remoteCandidate(
  id: Exclude<UpstreamId, 'local'>,
  request: RequestFacts,
  deps: CandidateDeps,
): Candidate {
  const upstream = request.remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return skipped(id, { reason: 'not_configured' });
  if (request.call.zeroSpend) return skipped(id, { reason: 'zero_spend' });
  if (deps.budgets.isSpent(id, request.config)) return skipped(id, { reason: 'budget' });
  const form = formForRemote(request, upstream, deps.memory);
  if (typeof form === 'string') return skipped(id, { reason: form });
  return single(id, id, () => remoteCall(form, upstream));
}

function localCandidate(facts: RequestFacts, deps: CandidateDeps): Candidate {
  const choice = deps.pickLocal();
  if (choice.kind === 'none') return skipped('local', choice);
  const targets = targetsOf(choice);
  const forms = new Map(
    targets.map((target) => [target, formForLocal(facts, target, deps.memory)]),
  );
  const suitable = targets.filter((target) => typeof forms.get(target) === 'object');
  if (suitable.length === 0) return skipped('local', { reason: closestOf([...forms.values()]) });
  const { call, config } = facts;
  const machine = (target: LocalTarget, isAlone: boolean) =>
    single('local', circuitIdOf(target), () => {
      const form = { ...call, ...(forms.get(target) as ChatCall) };
      const chain = chainFor(facts);
      const known = deps.memory.of(circuitIdOf(target));
      const prefix = chain === null ? null : cachedPrefix(known, chain);
      const tokensPerSecond = readingRate(known, modelAt(target, form.request) ?? '');
      return localCall({ ...form, prefix }, target, config, { isAlone, tokensPerSecond });
    });
  if (choice.kind === 'target') return machine(choice.target, true);
  const plan = { request: call.request, config, chain: chainFor(facts), machine };
  return { kind: 'pool', upstream: 'local', pool: localPool(suitable, plan, deps) };
}

/** Null where nothing is to be reused. One machine alone needs it as well, to learn how fast it reads what is new. */
function chainFor({ call, config }: Pick<RequestFacts, 'call' | 'config'>): PromptChain | null {
  const { keepsModel: isForVectors, answer } = call.request.endpoint;
  // Vectors are computed again each time, and a prompt whose tokens are counted is not read.
  const isReused = !isForVectors && answer.stream !== null;
  return isReused && config.routing.affinity === 'auto' ? call.chain() : null;
}

function single(upstream: UpstreamId, id: string, make: () => UpstreamCall): SingleCall {
  let made: UpstreamCall | null = null;
  return { kind: 'single', upstream, id, call: () => (made ??= make()) };
}

/**
 * The upstreams in the order in which they are asked. A name that the owner gave a meaning, as the model of an alias
 * or in an upstream's list of models, chooses: those that have it come first. Any other name is what an app was
 * made with, and must not lead past `local` to an upstream that is paid.
 */
export function orderFor(
  { call, config, remotes }: RequestFacts,
  pickLocal: () => LocalChoice,
): readonly UpstreamId[] {
  const { picked, request } = call;
  const { model } = request;
  let has = (id: UpstreamId) => id === picked?.upstream;
  if (picked === null && model !== null && isChosen(model, config, remotes)) {
    const local = pickLocal();
    has = (id) =>
      id === 'local'
        ? targetsOf(local).some((target) => hasModel(target, model))
        : remotes.some((remote) => remote.id === id && servesModel(remote, model));
  }
  const first = UPSTREAM_IDS.filter(has);
  return [...first, ...UPSTREAM_IDS.filter((id) => !first.includes(id))];
}

/** Whether the owner has a model of that name: in an engine, or in an upstream's list. */
export function isOwnModel(
  model: string,
  remotes: readonly RemoteUpstream[],
  local: LocalChoice,
): boolean {
  return (
    remotes.some(({ models }) => models.includes(model)) ||
    targetsOf(local).some((target) => listsModel(target, model))
  );
}

function isChosen(model: string, config: Config, remotes: readonly RemoteUpstream[]): boolean {
  return (
    remotes.some(({ models }) => models.includes(model)) ||
    isAliasedModel(config.routing.modelAliases, model)
  );
}
