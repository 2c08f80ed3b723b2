import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { LocalChoice } from '../upstream/call.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import { hasModel, type RemoteUpstream, servesModel } from '../upstream/upstreams.ts';

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
