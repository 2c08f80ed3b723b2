import type { Config } from '../../config/schema.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import {
  hasModel,
  type LocalTarget,
  type RemoteUpstream,
  servesModel,
} from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';
import type { EndpointSupport } from './endpoint-support.ts';

/** Why an upstream cannot serve a request, however well it is. */
export type Unsuitable = 'model_mismatch' | 'unsupported';

export interface SuitabilityRequest {
  readonly request: ChatRequest;
  readonly config: Config;
}

export function remoteUnsuitable(
  { request, config }: SuitabilityRequest,
  upstream: RemoteUpstream,
  support: EndpointSupport,
): Unsuitable | null {
  const { endpoint, model } = request;
  if (endpoint.support === 'required') return null;
  if (endpoint.keepsModel && !servesModel(upstream, model)) return 'model_mismatch';
  const speaks = support.speaks(upstream.id, endpoint, config[upstream.id].protocols);
  return speaks === 'translated' ? 'unsupported' : null;
}

export function localUnsuitable(
  { request, config }: SuitabilityRequest,
  target: LocalTarget,
  support: EndpointSupport,
): Unsuitable | null {
  const { endpoint, model } = request;
  if (endpoint.support === 'required') return null;
  if (endpoint.keepsModel && !hasModel(target, model)) return 'model_mismatch';
  const speaks = support.speaks(idOf(target), endpoint, config.local.protocols);
  return speaks === 'translated' ? 'unsupported' : null;
}
