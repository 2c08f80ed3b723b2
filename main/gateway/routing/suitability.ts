import type { Config } from '../../config/schema.ts';
import { type ChatCall, inChat } from '../upstream/call.ts';
import {
  hasModel,
  type LocalTarget,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';
import type { EndpointSupport, Speaks } from './endpoint-support.ts';
import { keepsModel } from './model-choice.ts';

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
