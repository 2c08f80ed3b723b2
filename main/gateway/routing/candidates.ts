import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { CancelSignal, Clock } from '../../platform/clock.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { type ChatCall, inChat, localCall, remoteCall } from '../upstream/call.ts';
import {
  canChat,
  circuitIdOf,
  hasModel,
  isKnownToLack,
  type LocalChoice,
  type LocalTarget,
  modelAt,
  type PickedModel,
  pickedModel,
  type Protocols,
  type RemoteUpstream,
  servesModel,
  targetsOf,
  type UpstreamFacts,
  isAliasedModel,
} from '../upstream/upstreams.ts';
import { readingFor } from './lessons.ts';
import { type BalancingDeps, LocalPool, type SingleCall } from './local-pool.ts';
import type { LocalOption } from './machine-choice.ts';
import type { RequestObserver } from './observer.ts';
import { type Skip, skipped } from './outcomes.ts';
import { exceedsWindow } from './windows.ts';

/* Which upstreams a request may go to, in which order, and in which form each of them takes it. */

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
  readonly clock: Clock;
  readonly memory: Memory;
  readonly pickLocal: () => LocalChoice;
  /** Budgets of money: an upstream whose budget is used up is not called. */
  readonly budgets: { readonly isSpent: (id: UpstreamId, config: Config) => boolean };
}

/** An upstream that a request may go to, or why it may not. */
export type Candidate = Skip | SingleCall | LocalPool;

/** Why an engine or machine cannot serve a request, however well it is. */
type Unsuitable = 'zero_spend' | 'context_length' | 'unsupported' | 'model_mismatch';

export type Candidates = ReturnType<typeof candidatesFor>;

/** The upstreams in routing order; each is looked at when it is needed, as most requests call the first alone. */
export function candidatesFor(request: RequestFacts, deps: CandidateDeps) {
  const { call, config, remotes } = request;
  const local = deps.pickLocal();
  const picked = pickedModel(call.request.model, remotes, local, config.routing.modelAliases);
  const asked = orderFor(request, picked, local);
  // No prompt leaves the owner's machines only to be counted: where they do not count, its length is estimated.
  const isOwnCount = call.request.endpoint.estimate !== undefined && asked[0] === 'local';
  const order: readonly UpstreamId[] = isOwnCount && local.kind !== 'none' ? ['local'] : asked;
  const known: Partial<Record<UpstreamId, Candidate>> = {};
  const find = (id: UpstreamId) => {
    if (id !== 'local')
      return remoteCandidate(id, picked?.upstream === id ? picked.model : null, request, deps);
    if (local.kind === 'none') return skipped(id, local);
    const options = targetsOf(local).map((target) => localOption(request, target, deps.memory));
    return ofMachines(options, local.kind === 'tier', config, deps);
  };
  return { order, of: (id: UpstreamId) => (known[id] ??= find(id)) };
}

function remoteCandidate(
  id: Exclude<UpstreamId, 'local'>,
  picked: string | null,
  { call, config, remotes }: RequestFacts,
  { budgets, memory }: CandidateDeps,
): Candidate {
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return skipped(id, { reason: 'not_configured' });
  if (call.zeroSpend) return skipped(id, { reason: 'zero_spend' });
  if (upstream.hasBudget && budgets.isSpent(id, config)) return skipped(id, { reason: 'budget' });
  if (keepsModel(call, config) && picked === null && !servesModel(upstream, call.request.model))
    return skipped(id, { reason: 'model_mismatch' });
  const { protocols, prefill } = upstream;
  const form = formFor(call, memory.of(id), protocols, prefill);
  if (form === null) return skipped(id, { reason: 'unsupported' });
  return { kind: 'single', upstream: id, id, call: () => remoteCall(form, upstream, picked) };
}

function localOption(
  { call, config }: RequestFacts,
  target: LocalTarget,
  memory: Memory,
): LocalOption | Unsuitable {
  const { endpoint, model: requested } = call.request;
  const isServed = endpoint.keepsModel || canChat(target, requested);
  if (!isServed || (keepsModel(call, config) && !hasModel(target, requested)))
    return 'model_mismatch';
  const id = circuitIdOf(target);
  const known = memory.of(id);
  const form = formForLocal(call, known, target, config.local);
  if (form === null) return 'unsupported';
  const served = modelAt(target, form.request);
  if (served.isElsewhere && call.zeroSpend) return 'zero_spend';
  return { target, id, known, form, ...served };
}

/** The engine, or a pool of machines, as far as the prompt fits them; or why none can serve the request. */
function ofMachines(
  options: readonly (LocalOption | Unsuitable)[],
  isPool: boolean,
  config: Config,
  deps: BalancingDeps,
): Candidate {
  const fitting = options.map((option) =>
    typeof option === 'object' && exceedsWindow(option) ? 'context_length' : option,
  );
  const suitable = fitting.filter((option) => typeof option === 'object');
  const [first] = suitable;
  if (first === undefined) return skipped('local', { reason: closestOf(fitting) });
  if (isPool) return new LocalPool(suitable, config, deps);
  const call = () => localCall(first, config, readingFor(first, config));
  return { kind: 'single', upstream: 'local', id: first.id, call };
}

/** Of machines of which none can serve: why not the one that comes closest. */
function closestOf(options: readonly (LocalOption | Unsuitable)[]): Unsuitable {
  const order = ['zero_spend', 'context_length', 'unsupported'] as const;
  return order.find((each) => options.includes(each)) ?? 'model_mismatch';
}

/** Whether only upstreams that have the model may answer: by the endpoint, or because the owner says so. */
function keepsModel({ request }: ChatCall, { routing }: Config): boolean {
  return request.endpoint.keepsModel || routing.modelFallback === 'same';
}

/**
 * As it is, or as a chat completion if the upstream lacks its endpoint: by the documentation, by the owner's word, or as it
 * answered (`lacks`). Null if it cannot be one.
 */
function formFor(
  call: ChatCall,
  known: Knowledge,
  protocols: Protocols,
  facts: UpstreamFacts,
): ChatCall | null {
  const { support, upstreamPath } = call.request.endpoint;
  if (support === 'required') return call;
  const isByWord = support === 'translatable' && protocols !== 'auto';
  const isKnown = protocols === 'auto' && isKnownToLack(upstreamPath, facts);
  const lacks = isKnown || known.get('lacks', upstreamPath) !== null;
  return (isByWord ? protocols === 'chat' : lacks) ? inChat(call) : call;
}

/**
 * As a chat completion also if that gives more: llama.cpp tells how far it has read, and tool calls are rescued from the
 * text. Engines lose nothing by it (docs/contributing/decisions/native-first.md).
 */
function formForLocal(
  call: ChatCall,
  known: Knowledge,
  { ownedBy }: LocalTarget,
  { protocols, rescueToolCalls }: Config['local'],
): ChatCall | null {
  const form = formFor(call, known, protocols, { address: '', ownedBy });
  if (form !== call || protocols !== 'auto') return form;
  const tells = ownedBy === 'llamacpp';
  const mayLeak = rescueToolCalls === 'on' && call.request.needs().tools;
  const chat = tells || mayLeak ? inChat(call) : null;
  return chat !== null && (tells || chat.request.mayLeakCalls()) ? chat : call;
}

/**
 * The upstreams in the order in which they are asked. A name that the owner gave a meaning, as the model of an alias
 * or in an upstream's list of models, chooses: those that have it come first. Any other name is what an app was
 * made with, and must not lead past `local` to an upstream that is paid.
 */
export function orderFor(
  { call, config, remotes }: RequestFacts,
  picked: PickedModel | null,
  local: LocalChoice,
): readonly UpstreamId[] {
  const { model } = call.request;
  let has = (id: UpstreamId) => id === picked?.upstream;
  if (picked === null) {
    if (model === null || !isChosen(model, config, remotes)) return UPSTREAM_IDS;
    has = (id) =>
      id === 'local'
        ? targetsOf(local).some((target) => hasModel(target, model))
        : remotes.some((remote) => remote.id === id && servesModel(remote, model));
  }
  const first = UPSTREAM_IDS.filter(has);
  return [...first, ...UPSTREAM_IDS.filter((id) => !first.includes(id))];
}

function isChosen(model: string, config: Config, remotes: readonly RemoteUpstream[]): boolean {
  return (
    remotes.some(({ models }) => models.includes(model)) ||
    isAliasedModel(config.routing.modelAliases, model)
  );
}
