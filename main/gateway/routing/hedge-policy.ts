import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { UpstreamCall, ChatCall, LocalChoice } from '../upstream/call.ts';
import type { Circuits } from '../circuits/circuits.ts';
import {
  localModel,
  type LocalTarget,
  remoteModel,
  type RemoteUpstream,
} from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';
import { type Predictions, predictedSlow } from './ttft-predictions.ts';

type Routing = Config['routing'];

/**
 * Whether `to` may be called while `from` is slow. Only `all` lets a prompt go to a hosted upstream, and
 * cost money, because `local` was slow.
 */
export function mayHedge(hedge: Routing['hedge'], from: UpstreamId, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  return hedge === 'all' || (from === 'local') === (to === 'local');
}

/** An answer that comes as a whole shows no first token, so its duration does not tell whether it is slow. */
export function showsContent({ mode }: UpstreamCall): boolean {
  return mode !== 'whole';
}

/** Whether one of the upstreams `ahead` might be called while this call is slow. */
export function canHedge(
  call: UpstreamCall,
  ahead: readonly UpstreamId[],
  { routing: { hedge } }: Config,
): boolean {
  return showsContent(call) && ahead.some((to) => mayHedge(hedge, call.upstream, to));
}

/** A call without content for this long is hedged. */
export function hedgeDelayMs({ routing, circuit }: Config): number {
  return routing.hedgeMs ?? circuit.ttftThresholdMs;
}

/** Limits how many of the recent requests may cost twice. */
export interface HedgeBudget {
  /** Counts a request. */
  requested(): void;
  /**
   * Whether one more hedge is within `percent` of the recent requests, or below `atLeast`: as many as it
   * takes for the circuit of an upstream that hangs to open. 0 percent allows none.
   */
  allows(percent: number, atLeast: number): boolean;
  spend(): void;
}

/** Requests that the budget is computed over. */
const WINDOW = 200;

export function createHedgeBudget(): HedgeBudget {
  const hedges = new Uint8Array(WINDOW);
  let newest = 0;
  let seen = 0;
  let spent = 0;
  return {
    requested() {
      newest = (newest + 1) % WINDOW;
      seen = Math.min(seen + 1, WINDOW);
      spent -= hedges[newest] ?? 0;
      hedges[newest] = 0;
    },
    allows: (percent, atLeast) =>
      percent > 0 && spent < Math.max(atLeast, Math.floor((seen * percent) / 100)),
    spend() {
      hedges[newest] = (hedges[newest] ?? 0) + 1;
      spent += 1;
    },
  };
}

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
