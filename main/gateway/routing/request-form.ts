import type { Config } from '../../config/schema.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { rescueFor } from '../protocols/rescue/rescue.ts';
import { type ChatCall, inChat } from '../upstream/call.ts';
import {
  canChat,
  circuitIdOf,
  hasModel,
  isKnownToLack,
  type LocalTarget,
  type Protocols,
  type RemoteUpstream,
  servesModel,
  type UpstreamFacts,
} from '../upstream/upstreams.ts';
import { exceedsWindow } from './windows.ts';

/* In which form an upstream takes a request, or why it cannot. */

interface FormRequest {
  readonly call: ChatCall;
  readonly config: Config;
}

/** Why an upstream cannot serve a request, however well it is. */
type Unsuitable = 'model_mismatch' | 'unsupported' | 'context_length';

/** Whether only upstreams that have the model may answer: by the endpoint, or because the owner says so. */
export function keepsModel({ call, config }: FormRequest): boolean {
  return call.request.endpoint.keepsModel || config.routing.modelFallback === 'same';
}

/** The request as the upstream takes it: as it is, or as a chat completion. */
export function formForRemote(
  request: FormRequest,
  upstream: RemoteUpstream,
  memory: Memory,
): ChatCall | Unsuitable {
  const { call } = request;
  const { id, protocols, prefill } = upstream;
  const isPicked = call.picked?.upstream === id;
  if (keepsModel(request) && !isPicked && !servesModel(upstream, call.request.model))
    return 'model_mismatch';
  return formFor(call, memory.of(id), { protocols, ...prefill });
}

/** As for a remote upstream; the window must be large enough. */
export function formForLocal(
  request: FormRequest,
  target: LocalTarget,
  memory: Memory,
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
export function closestOf(forms: readonly (ChatCall | Unsuitable)[]): Unsuitable {
  if (forms.includes('context_length')) return 'context_length';
  return forms.includes('unsupported') ? 'unsupported' : 'model_mismatch';
}

interface EndpointFacts extends UpstreamFacts {
  readonly protocols: Protocols;
}

/** Whether a chat completion has to stand in: by the documentation, by the owner's word, or as the upstream answered (`lacks`). */
function lacksEndpoint(
  known: Knowledge,
  { upstreamPath, support }: Pick<ApiEndpoint, 'upstreamPath' | 'support'>,
  facts: EndpointFacts,
): boolean {
  const { protocols } = facts;
  if (support === 'required') return false;
  if (support === 'translatable' && protocols !== 'auto') return protocols === 'chat';
  if (protocols === 'auto' && isKnownToLack(upstreamPath, facts)) return true;
  return known.get('lacks', upstreamPath) !== null;
}
