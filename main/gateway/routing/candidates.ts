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
import type { Knowledge } from '../memory/memory.ts';
import { isAliasedModel } from '../protocols/aliases.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import type { PromptChain } from '../protocols/prompt-chain.ts';
import { rescueFor } from '../protocols/rescue/rescue.ts';
import {
  canChat,
  circuitIdOf,
  hasModel,
  type LocalTarget,
  listsModel,
  type Protocols,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { type BalancingDeps, type LocalPool, localPool, type SingleCall } from './local-pool.ts';
import type { RequestObserver } from './observer.ts';
import { type Skipped, skipped } from './outcomes.ts';
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
  | Skipped
  | SingleCall
  | { readonly kind: 'pool'; readonly upstream: 'local'; readonly pool: LocalPool };

/** In routing order. */
export function candidatesFor(asked: RequestFacts, deps: CandidateDeps): readonly Candidate[] {
  return orderFor(asked, deps.pickLocal).map((id) =>
    id === 'local' ? localCandidate(asked, deps) : remoteCandidate(id, asked, deps),
  );
}

export function remoteCandidate(
  id: Exclude<UpstreamId, 'local'>,
  asked: RequestFacts,
  deps: CandidateDeps,
): Candidate {
  const upstream = asked.remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return without(id, 'not_configured');
  if (asked.call.zeroSpend) return without(id, 'zero_spend');
  if (deps.budgets.isSpent(id, asked.config)) return without(id, 'budget');
  const form = formForRemote(asked, upstream, deps);
  if (typeof form === 'string') return without(id, form);
  return { kind: 'single', upstream: id, id, call: once(() => remoteCall(form, upstream)) };
}

/** `isEligible`: which machines of `local` may be called. */
export function localCandidate(
  asked: RequestFacts,
  deps: CandidateDeps,
  isEligible: (target: LocalTarget) => boolean = () => true,
): Candidate {
  const choice = deps.pickLocal();
  if (choice.kind === 'none') return without('local', choice.reason, choice.causes);
  const targets = targetsOf(choice);
  const forms = new Map(targets.map((target) => [target, formForLocal(asked, target, deps)]));
  const suitable = targets.filter((target) => typeof forms.get(target) === 'object');
  if (targets.length > 0 && suitable.length === 0)
    return without('local', closestOf([...forms.values()]));
  const { config } = asked;
  const { request } = asked.call;
  function callTo(target: LocalTarget, isAlone: boolean): UpstreamCall {
    const form = { ...asked.call, ...(forms.get(target) as ChatCall) };
    const chain = chainFor(asked);
    const learnt = deps.memory.of(circuitIdOf(target));
    const prefix = chain === null ? null : cachedPrefix(learnt, chain);
    const tokensPerSecond = readingRate(learnt, modelAt(target, form.request) ?? '');
    return localCall({ ...form, prefix }, target, config, { isAlone, tokensPerSecond });
  }
  if (choice.kind === 'target')
    return {
      kind: 'single',
      upstream: 'local',
      id: 'local',
      call: once(() => callTo(choice.target, true)),
    };
  const pool = { request, config, chain: chainFor(asked), callTo };
  return {
    kind: 'pool',
    upstream: 'local',
    pool: localPool(suitable.filter(isEligible), pool, deps),
  };
}

/** Null where nothing is to be reused. One machine alone needs it as well, to learn how fast it reads what is new. */
function chainFor({ call, config }: Pick<RequestFacts, 'call' | 'config'>): PromptChain | null {
  const { keepsModel: isForVectors, answer } = call.request.endpoint;
  // Vectors are computed again each time, and a prompt whose tokens are counted is not read.
  const isReused = !isForVectors && answer.stream !== null;
  return isReused && config.routing.affinity === 'auto' ? call.chain() : null;
}

function once<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => (made ??= make());
}

/** An upstream that is passed over without asking its circuit. */
function without(
  upstream: UpstreamId,
  reason: Skipped['reason'],
  causes?: Skipped['causes'],
): Skipped {
  const outcome = skipped(upstream, { reason, waitMs: null, backAtTicks: null });
  return causes === undefined ? outcome : { ...outcome, causes };
}

/** Whether only upstreams that have the model may answer: by the endpoint, or because the owner says so. */
export function keepsModel({ call, config }: Pick<RequestFacts, 'call' | 'config'>): boolean {
  return call.request.endpoint.keepsModel || config.routing.modelFallback === 'same';
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
  const { model } = call.request;
  const { picked } = call;
  if (picked !== null)
    return [picked.upstream, ...UPSTREAM_IDS.filter((id) => id !== picked.upstream)];
  if (model === null || !isChosen(model, config, remotes)) return UPSTREAM_IDS;
  const local = pickLocal();
  const has = (id: UpstreamId) => {
    if (id === 'local') return hasLocally(local, model);
    const upstream = remotes.find((remote) => remote.id === id);
    return upstream !== undefined && servesModel(upstream, model);
  };
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

function hasLocally(local: LocalChoice, model: string): boolean {
  return targetsOf(local).some((target) => hasModel(target, model));
}

/** Why an upstream cannot serve a request, however well it is. */
type Unsuitable = 'model_mismatch' | 'unsupported' | 'context_length';

/** The request as the upstream takes it: as it is, or as a chat completion. */
function formForRemote(
  asked: RequestFacts,
  upstream: RemoteUpstream,
  { memory }: CandidateDeps,
): ChatCall | Unsuitable {
  const { call } = asked;
  const { endpoint, model } = call.request;
  const isPicked = call.picked?.upstream === upstream.id;
  if (keepsModel(asked) && !isPicked && !servesModel(upstream, model)) return 'model_mismatch';
  const { id, protocols, prefill } = upstream;
  return formFor(call, spokenBy(memory.of(id), endpoint, { protocols, ...prefill }));
}

/** As for a remote upstream; the window must be large enough. */
function formForLocal(
  asked: RequestFacts,
  target: LocalTarget,
  { memory }: CandidateDeps,
): ChatCall | Unsuitable {
  const { call, config } = asked;
  const { endpoint, model } = call.request;
  const isServed = endpoint.keepsModel || canChat(target, model);
  if (!isServed || (keepsModel(asked) && !hasModel(target, model))) return 'model_mismatch';
  const learnt = memory.of(circuitIdOf(target));
  const known = { protocols: config.local.protocols, address: '', ownedBy: target.ownedBy };
  const form =
    formInChat(call, target, config.local) ?? formFor(call, spokenBy(learnt, endpoint, known));
  if (typeof form === 'string') return form;
  return exceedsWindow(learnt, target, form.request) ? 'context_length' : form;
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

function formFor(call: ChatCall, speaks: Speaks): ChatCall | Unsuitable {
  return speaks === 'translated' ? (inChat(call) ?? 'unsupported') : call;
}

/** Of machines of which none can serve: why not the one that comes closest. */
function closestOf(forms: readonly (ChatCall | Unsuitable)[]): Unsuitable {
  if (forms.includes('context_length')) return 'context_length';
  return forms.includes('unsupported') ? 'unsupported' : 'model_mismatch';
}

/**
 * `native`: the owner says so. `translated`: it has no such endpoint, so that only chat completions could stand in.
 * `unknown`: it is asked.
 */
type Speaks = 'native' | 'translated' | 'unknown';

/** What is known of an upstream before it is asked. */
interface UpstreamFacts {
  readonly protocols: Protocols;
  /** Host and path of the base address, with a slash at the end; empty for `local`. */
  readonly address: string;
  /** The `owned_by` of its models, which identifies some engines; null while unknown. */
  readonly ownedBy: string | null;
}

/** By its documentation, by the owner's word, or as it answered (`lacks`). */
function spokenBy(
  known: Knowledge,
  { upstreamPath, support }: Pick<ApiEndpoint, 'upstreamPath' | 'support'>,
  facts: UpstreamFacts,
): Speaks {
  const { protocols } = facts;
  if (support === 'required') return 'native';
  if (support === 'translatable' && protocols !== 'auto') {
    return protocols === 'native' ? 'native' : 'translated';
  }
  if (protocols === 'auto' && isKnownToLack(upstreamPath, facts)) return 'translated';
  return known.get('lacks', upstreamPath) === null ? 'unknown' : 'translated';
}

const MESSAGES = ['/messages', '/messages/count_tokens'];
const RESPONSES = ['/responses'];

/** Services whose documentation has no such endpoint. For one that adds it later, the owner sets `_PROTOCOLS=native`. */
const LACKING: readonly (readonly [address: RegExp, paths: readonly string[]])[] = [
  [/^api\.openai\.com\//, MESSAGES],
  [/^[^/]+\.openai\.azure\.com\//, MESSAGES],
  [/^api\.groq\.com\//, MESSAGES],
  [/^api\.anthropic\.com\//, RESPONSES],
  [/^api\.deepseek\.com\/anthropic\//, RESPONSES],
  [/^api\.deepseek\.com\/(?!anthropic\/)/, [...RESPONSES, ...MESSAGES]],
  [/^api\.mistral\.ai\//, [...RESPONSES, ...MESSAGES]],
];

/**
 * Whether an upstream is better asked for a chat completion. The streamed responses of llama.cpp (b11669) have no
 * `output_index`, without which OpenAI's clients throw, and call an answer that was cut off `completed`.
 */
function isKnownToLack(path: string, { address, ownedBy }: UpstreamFacts): boolean {
  if (ownedBy === 'llamacpp' && RESPONSES.includes(path)) return true;
  return LACKING.some(([at, paths]) => at.test(address) && paths.includes(path));
}
