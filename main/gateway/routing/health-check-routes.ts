import { HOSTED_IDS, PROVIDER_PREFIX } from '#shared/ids.ts';
import { isObject, parseJson } from '../../platform/json.ts';
import { LOADING } from '#shared/condition.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Circuits } from '../circuits/circuits.ts';
import { fetchModelList, getHealth, lacksRoute } from '../upstream/own-requests.ts';
import { saysLoading } from '../upstream/refusals.ts';
import {
  circuitIdOf,
  type LocalChoice,
  type LocalTarget,
  type RemoteUpstream,
  targetsOf,
} from '../upstream/upstreams.ts';

export interface HealthCheckRoutesDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly circuits: Circuits;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
}

const LIMITS = {
  /** Shorter than the pause between two checks. */
  timeoutMs: 4000,
  /** Some upstreams list thousands of models; the rest of the body is not needed. */
  maxBytes: 65_536,
};

type Fault = FallbackReason | typeof LOADING;

/** What a request that costs nothing has shown of an upstream. */
export type HealthCheckResult =
  | { readonly kind: 'answered' }
  /** A server runs there, but none of the routes exists. */
  | { readonly kind: 'unclear' }
  | { readonly kind: 'failed'; readonly reason: Fault }
  /** This gateway had no descriptor left for a connection. */
  | { readonly kind: 'not_asked' };

/** Null if there is nothing to ask. */
export type CheckHealth = (id: string) => Promise<HealthCheckResult> | null;

/** An upstream that refuses the key is up: the circuit is about whether it answers. Null: nothing was learned. */
export function isUp(result: HealthCheckResult): boolean | null {
  if (result.kind === 'not_asked') return null;
  return result.kind !== 'failed' || result.reason === 'credentials';
}

/**
 * Checks an upstream or a machine by routes that cost nothing; null if there is none. `ondemand` is
 * never asked, as any request may start a GPU that is paid for, and hosted upstreams are not under
 * zero-spend.
 */
export function createHealthCheck(deps: HealthCheckRoutesDeps): CheckHealth {
  const { config, remotes } = deps;
  return (id) => {
    if (id === 'local' || id.startsWith(PROVIDER_PREFIX)) return checkLocal(id, deps);
    const upstream = remotes().find((remote) => remote.id === id);
    const isHosted = HOSTED_IDS.some((hosted) => hosted === id);
    if (upstream === undefined || !isHosted || config().routing.forceZero) return null;
    return fetchModelList(upstream, LIMITS, deps).then((result) => resultIn(result, false));
  };
}

function checkLocal(id: string, deps: HealthCheckRoutesDeps): Promise<HealthCheckResult> | null {
  const choice = deps.pickLocal();
  const targets = targetsOf(choice);
  if (id === 'local' && choice.kind === 'tier') {
    const admits = (target: LocalTarget) =>
      deps.circuits.exclusionOf(circuitIdOf(target), '') === null;
    return Promise.resolve(targets.some(admits) ? ANSWERED : failed('no_provider'));
  }
  const target = targets.find((each) => circuitIdOf(each) === id);
  if (target === undefined) return null;
  const { baseAddress, gatewayToken } = target;
  const headers: RemoteUpstream['headers'] =
    gatewayToken === null ? {} : { 'x-gateway-token': gatewayToken };
  const asked = getHealth({ baseAddress, apiKey: null, headers }, LIMITS, deps);
  return asked.then((result) => resultIn(result, true));
}

const ANSWERED: HealthCheckResult = { kind: 'answered' };
const UNCLEAR: HealthCheckResult = { kind: 'unclear' };
const failed = (reason: Fault): HealthCheckResult => ({ kind: 'failed', reason });

/** An engine's own key is the caller's, so without one a refusal says nothing. */
function resultIn(result: FetchResult, isOwn: boolean): HealthCheckResult {
  if (result.kind === 'exhausted') return { kind: 'not_asked' };
  if (result.kind !== 'response' && result.kind !== 'too_large') {
    return failed(result.kind === 'timed_out' ? 'timeout' : 'unreachable');
  }
  const { status } = result;
  if (lacksRoute(result)) return UNCLEAR;
  // llama.cpp explains its 503; SGLang and TGI answer a bare one while they start.
  const message = result.kind === 'response' ? result.body.toString() : 'too large';
  const isLoading = status === 503 && (message === '' || saysLoading({ message }));
  if (isOwn && isLoading) return failed(LOADING);
  if (status >= 300) return refused(status, isOwn);
  // A list of models may be long.
  return result.kind === 'too_large' ? ANSWERED : answerIn(result.body, isOwn);
}

function refused(status: number, isOwn: boolean): HealthCheckResult {
  if (status === 429) return failed('rate_limited');
  if (status >= 500) return failed(`http_${status}`);
  if (status === 401 || status === 403) return isOwn ? ANSWERED : failed('credentials');
  return UNCLEAR;
}

/** An agent may be up without its engine, and reports that. A site at the base URL answers with a page. */
function answerIn(body: Buffer, isOwn: boolean): HealthCheckResult {
  const answer = parseJson(body.toString());
  if (!isObject(answer)) return isOwn || Array.isArray(answer) ? ANSWERED : UNCLEAR;
  const engine = answer['engine_health'];
  return isObject(engine) && engine['status'] !== 'ok' ? failed('unreachable') : ANSWERED;
}
