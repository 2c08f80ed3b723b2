import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type ChatCall, inChat, type LocalChoice } from '../upstream/call.ts';
import {
  hasModel,
  type LocalTarget,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';
import type { EndpointSupport, Speaks } from './upstream-support.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';

interface Asked {
  readonly request: Pick<ChatRequest, 'model' | 'endpoint'>;
  readonly config: Config;
}

/** Whether only upstreams that have the model may answer: by the endpoint, or because the owner says so. */
export function keepsModel({ request, config }: Asked): boolean {
  return request.endpoint.keepsModel || config.routing.modelFallback === 'same';
}

/**
 * The upstreams in the order in which they are asked. A name that the owner gave a meaning, as the model of an alias
 * or in an upstream's list of models, chooses: those that have it come first. Any other name is what an app was
 * made with, and must not lead past `local` to an upstream that is paid.
 */
export function orderFor(
  { request: { model }, config }: Asked,
  remotes: readonly RemoteUpstream[],
  pickLocal: () => LocalChoice,
): readonly UpstreamId[] {
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

function isChosen(model: string, config: Config, remotes: readonly RemoteUpstream[]): boolean {
  return (
    remotes.some(({ models }) => models.includes(model)) ||
    config.routing.modelAliases.some((pair) => pair.endsWith(`=${model}`))
  );
}

function hasLocally(local: LocalChoice, model: string): boolean {
  switch (local.kind) {
    case 'none':
      return false;
    case 'target':
      return hasModel(local.target, model);
    case 'tier':
      return local.targets.some((target) => hasModel(target, model));
  }
}

/** Why an upstream cannot serve a request, however well it is. */
export type Unsuitable = 'model_mismatch' | 'unsupported';

export interface SuitabilityRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly support: EndpointSupport;
}

/** Every upstream has the endpoint, with whatever model. */
export function isForAll({ call, config }: Pick<SuitabilityRequest, 'call' | 'config'>): boolean {
  const { request } = call;
  return request.endpoint.support === 'required' && !keepsModel({ request, config });
}

/** The request as the upstream takes it: as it is, or as a chat completion. */
export function formForRemote(
  asked: SuitabilityRequest,
  upstream: RemoteUpstream,
): ChatCall | Unsuitable {
  const { call, support } = asked;
  const { endpoint, model } = call.request;
  if (isForAll(asked)) return call;
  if (keepsModel({ request: call.request, config: asked.config }) && !servesModel(upstream, model))
    return 'model_mismatch';
  const { id, protocols, prefill } = upstream;
  return formFor(call, support.speaks(id, endpoint, { protocols, ...prefill }));
}

/** As for a remote upstream. */
export function formForLocal(
  asked: SuitabilityRequest,
  target: LocalTarget,
): ChatCall | Unsuitable {
  const { call, config, support } = asked;
  const { endpoint, model } = call.request;
  if (isForAll(asked)) return call;
  if (keepsModel({ request: call.request, config: asked.config }) && !hasModel(target, model))
    return 'model_mismatch';
  const known = { protocols: config.local.protocols, address: '', ownedBy: target.ownedBy };
  return formFor(call, support.speaks(idOf(target), endpoint, known));
}

function formFor(call: ChatCall, speaks: Speaks): ChatCall | Unsuitable {
  return speaks === 'translated' ? (inChat(call) ?? 'unsupported') : call;
}

/** As of the machine that comes closest, if none can serve. */
export function poolUnsuitable(
  suitability: SuitabilityRequest,
  targets: readonly LocalTarget[],
): Unsuitable | null {
  if (targets.length === 0 || isForAll(suitability)) return null;
  const forms = targets.map((target) => formForLocal(suitability, target));
  if (forms.some((form) => typeof form === 'object')) return null;
  return forms.includes('unsupported') ? 'unsupported' : 'model_mismatch';
}
