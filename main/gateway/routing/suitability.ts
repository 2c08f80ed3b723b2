import type { Config } from '../../config/schema.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import {
  hasModel,
  type LocalTarget,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';
import { keepsModel } from './model-choice.ts';
import type { EndpointSupport } from './endpoint-support.ts';

/** Why an upstream cannot serve a request, however well it is. */
export type Unsuitable = 'model_mismatch' | 'unsupported';

export interface SuitabilityRequest {
  readonly request: ChatRequest;
  readonly config: Config;
  readonly support: EndpointSupport;
}

/** Every upstream has the endpoint, with whatever model. */
export function isForAll(asked: Pick<SuitabilityRequest, 'request' | 'config'>): boolean {
  return asked.request.endpoint.support === 'required' && !keepsModel(asked);
}

export function remoteUnsuitable(
  suitability: SuitabilityRequest,
  upstream: RemoteUpstream,
): Unsuitable | null {
  const { request, config, support } = suitability;
  const { endpoint, model } = request;
  if (isForAll(suitability)) return null;
  if (keepsModel(suitability) && !servesModel(upstream, model)) return 'model_mismatch';
  const speaks = support.speaks(upstream.id, endpoint, config[upstream.id].protocols);
  return speaks === 'translated' ? 'unsupported' : null;
}

export function localUnsuitable(
  suitability: SuitabilityRequest,
  target: LocalTarget,
): Unsuitable | null {
  const { request, config, support } = suitability;
  const { endpoint, model } = request;
  if (isForAll(suitability)) return null;
  if (keepsModel(suitability) && !hasModel(target, model)) return 'model_mismatch';
  const speaks = support.speaks(idOf(target), endpoint, config.local.protocols);
  return speaks === 'translated' ? 'unsupported' : null;
}

/** As of the machine that comes closest, if none can serve. */
export function poolUnsuitable(
  suitability: SuitabilityRequest,
  targets: readonly LocalTarget[],
): Unsuitable | null {
  if (targets.length === 0 || isForAll(suitability)) return null;
  const reasons = targets.map((target) => localUnsuitable(suitability, target));
  if (reasons.includes(null)) return null;
  return reasons.includes('unsupported') ? 'unsupported' : 'model_mismatch';
}
