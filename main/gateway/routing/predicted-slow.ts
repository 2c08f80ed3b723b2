import type { Config } from '../../config/schema.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { ChatCall, LocalChoice } from '../upstream/call.ts';
import { localModel, type LocalTarget, type RemoteUpstream } from '../upstream/upstreams.ts';
import { hedgeDelayMs } from './hedge-policy.ts';
import { idOf } from './local-balancing.ts';
import { predictedSlow } from './ttft-prediction.ts';
import type { Predictions } from './ttft-predictions.ts';

/** What `local` is judged by before it is asked. */
export interface PredictedSlowDeps {
  readonly pickLocal: () => LocalChoice;
  readonly circuits: Circuits;
  readonly predictions: Predictions;
}

/** The request that might go elsewhere at once. */
export interface PredictedSlowRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
}

/**
 * Whether nobody of `local` can bring first content before the slow line while somebody else lets the
 * request in. Only where the owner lets prompts leave the house for that (`HEDGE=all`).
 */
export function isLocalTooSlow(request: PredictedSlowRequest, deps: PredictedSlowDeps): boolean {
  const { call, config, remotes } = request;
  if (config.routing.hedge !== 'all' || call.zeroSpend) return false;
  const { circuits, predictions } = deps;
  const isIn = ({ id, model }: RemoteUpstream) =>
    circuits.exclusionOf(id, model ?? call.request.model ?? '') === null;
  if (!remotes.some(isIn)) return false;
  const lineMs = hedgeDelayMs(config);
  const promptBytes = call.request.bytes.length;
  const admitted = targetsOf(deps.pickLocal()).filter(
    (target) =>
      circuits.exclusionOf(idOf(target), localModel(target, call.request.model) ?? '') === null,
  );
  return (
    admitted.length > 0 &&
    admitted.every((target) => predictedSlow(predictions.at(idOf(target), promptBytes), lineMs))
  );
}

function targetsOf(choice: LocalChoice): readonly LocalTarget[] {
  switch (choice.kind) {
    case 'target':
      return [choice.target];
    case 'tier':
      return choice.targets;
    case 'none':
      return [];
  }
}
