import type { Config } from '../../config/schema.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { ChatCall, LocalChoice } from '../upstream/call.ts';
import {
  localModel,
  type LocalTarget,
  remoteModel,
  type RemoteUpstream,
} from '../upstream/upstreams.ts';
import { hedgeDelayMs } from './hedge-policy.ts';
import { idOf } from './local-balancing.ts';
import { predictedSlow } from './ttft-prediction.ts';
import type { Predictions } from './ttft-predictions.ts';

export interface PredictedSlowDeps {
  readonly pickLocal: () => LocalChoice;
  readonly circuits: Circuits;
  readonly predictions: Predictions;
}

interface PredictedSlowRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
}

/**
 * True when every admitting local machine is predicted to miss the hedge delay and some hosted upstream
 * admits. Only with `HEDGE=all`: otherwise no prompt is sent to a hosted upstream because `local` is slow.
 */
export function isLocalTooSlow(request: PredictedSlowRequest, deps: PredictedSlowDeps): boolean {
  const { call, config, remotes } = request;
  // What is predicted is the time until generated text.
  if (call.request.endpoint.keepsModel) return false;
  if (config.routing.hedge !== 'all' || call.zeroSpend) return false;
  const { circuits, predictions } = deps;
  const admits = (upstream: RemoteUpstream) =>
    circuits.exclusionOf(upstream.id, remoteModel(upstream, call.request.model) ?? '') === null;
  if (!remotes.some(admits)) return false;
  const delayMs = hedgeDelayMs(config);
  const promptBytes = call.request.bytes.length;
  const machines = targetsOf(deps.pickLocal()).filter(
    (target) =>
      circuits.exclusionOf(idOf(target), localModel(target, call.request.model) ?? '') === null,
  );
  return (
    machines.length > 0 &&
    machines.every((target) => predictedSlow(predictions.at(idOf(target), promptBytes), delayMs))
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
