import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { CancelSignal } from '../../platform/clock.ts';
import {
  type ChatCall,
  inChat,
  type LocalChoice,
  localCall,
  modelAt,
  remoteCall,
  targetsOf,
  type UpstreamCall,
} from '../upstream/call.ts';
import { type EndpointFacts, lacksEndpoint } from '../upstream/missing-endpoints.ts';
import type { Knowledge } from '../memory/memory.ts';
import { isAliasedModel } from '../protocols/aliases.ts';
import type { PromptChain } from '../protocols/prompt-chain.ts';
import { rescueFor } from '../protocols/rescue/rescue.ts';
import {
  canChat,
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
import { cachedPrefix, readingRate } from './prefixes.ts';
import { exceedsWindow } from './windows.ts';

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
  const form = formForRemote(request, upstream, deps);
  if (typeof form === 'string') return skipped(id, { reason: form });
  return single(id, () => remoteCall(form, upstream));
}

function localCandidate(facts: RequestFacts, deps: CandidateDeps): Candidate {
  const choice = deps.pickLocal();
  if (choice.kind === 'none') return skipped('local', choice);
  const targets = targetsOf(choice);
  const forms = new Map(targets.map((target) => [target, formForLocal(facts, target, deps)]));
  const suitable = targets.filter((target) => typeof forms.get(target) === 'object');
  if (suitable.length === 0) return skipped('local', { reason: closestOf([...forms.values()]) });
  const { call, config } = facts;
  function callTo(target: LocalTarget, isAlone: boolean): UpstreamCall {
    const form = { ...call, ...(forms.get(target) as ChatCall) };
    const chain = chainFor(facts);
    const learnt = deps.memory.of(circuitIdOf(target));
    const prefix = chain === null ? null : cachedPrefix(learnt, chain);
    const tokensPerSecond = readingRate(learnt, modelAt(target, form.request) ?? '');
    return localCall({ ...form, prefix }, target, config, { isAlone, tokensPerSecond });
  }
  if (choice.kind === 'target') return single('local', () => callTo(choice.target, true));
  const { request } = call;
  const pool = localPool(suitable, { request, config, chain: chainFor(facts), callTo }, deps);
  return { kind: 'pool', upstream: 'local', pool };
}

/** Null where nothing is to be reused. One machine alone needs it as well, to learn how fast it reads what is new. */
function chainFor({ call, config }: Pick<RequestFacts, 'call' | 'config'>): PromptChain | null {
  const { keepsModel: isForVectors, answer } = call.request.endpoint;
  // Vectors are computed again each time, and a prompt whose tokens are counted is not read.
  const isReused = !isForVectors && answer.stream !== null;
  return isReused && config.routing.affinity === 'auto' ? call.chain() : null;
}

function single(upstream: UpstreamId, make: () => UpstreamCall): SingleCall {
  let made: UpstreamCall | null = null;
  return { kind: 'single', upstream, id: upstream, call: () => (made ??= make()) };
}

/** Whether only upstreams that have the model may answer: by the endpoint, or because the owner says so. */
export function keepsModel({ call, config }: Pick<RequestFacts, 'call' | 'config'>): boolean {
  return call.request.endpoint.keepsModel || config.routing.modelFallback === 'same';
}

/**
 * The upstreams in the order in which they are request. A name that the owner gave a meaning, as the model of an alias
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

/** Why an upstream cannot serve a request, however well it is. */
type Unsuitable = 'model_mismatch' | 'unsupported' | 'context_length';

/** The request as the upstream takes it: as it is, or as a chat completion. */
function formForRemote(
  request: RequestFacts,
  upstream: RemoteUpstream,
  { memory }: CandidateDeps,
): ChatCall | Unsuitable {
  const { call } = request;
  const { id, protocols, prefill } = upstream;
  const isPicked = call.picked?.upstream === id;
  if (keepsModel(request) && !isPicked && !servesModel(upstream, call.request.model))
    return 'model_mismatch';
  return formFor(call, memory.of(id), { protocols, ...prefill });
}

/** As for a remote upstream; the window must be large enough. */
function formForLocal(
  request: RequestFacts,
  target: LocalTarget,
  { memory }: CandidateDeps,
): ChatCall | Unsuitable {
  const { call, config } = request;
  const { endpoint, model } = call.request;
  const isServed = endpoint.keepsModel || canChat(target, model);
  if (!isServed || (keepsModel(request) && !hasModel(target, model))) return 'model_mismatch';
  const known = memory.of(circuitIdOf(target));
  const facts = { protocols: config.local.protocols, address: '', ownedBy: target.ownedBy };
  const form = formInChat(call, target, config.local) ?? formFor(call, known, facts);
  if (typeof form === 'string') return form;
  return exceedsWindow(known, target, form.request) ? 'context_length' : form;
}

/**
 * As a chat completion, if that gives more: llama.cpp tells how far it has read, and tool calls are rescued from the text.
 * Engines lose nothing by it (docs/contributing/decisions/native-first.md). Null if it gives nothing, or cannot be one.
 */
function formInChat(
  call: ChatCall,
  { ownedBy }: LocalTarget,
  { protocols, rescueToolCalls }: Config['local'],
): ChatCall | null {
  const tells = ownedBy === 'llamacpp';
  const mayLeak = rescueToolCalls === 'on' && call.request.needs().tools;
  const chat = protocols === 'auto' && (tells || mayLeak) ? inChat(call) : null;
  return chat !== null && (tells || rescueFor(chat.request) !== null) ? chat : null;
}

function formFor(call: ChatCall, known: Knowledge, facts: EndpointFacts): ChatCall | Unsuitable {
  return lacksEndpoint(known, call.request.endpoint, facts)
    ? (inChat(call) ?? 'unsupported')
    : call;
}

/** Of machines of which none can serve: why not the one that comes closest. */
function closestOf(forms: readonly (ChatCall | Unsuitable)[]): Unsuitable {
  if (forms.includes('context_length')) return 'context_length';
  return forms.includes('unsupported') ? 'unsupported' : 'model_mismatch';
}
