import { HOSTED_IDS, PROVIDER_PREFIX } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { LocalChoice } from '../upstream/call.ts';
import { parseJson } from '../../platform/json.ts';
import { listHeaders } from '../upstream/headers.ts';
import type { BaseAddress, LocalTarget, RemoteUpstream } from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';

export interface HealthCheckRoutesDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly circuits: Circuits;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
}

/** Shorter than the pause between two checks. */
const TIMEOUT_MS = 4000;
/** Some upstreams list thousands of models; the rest of the body is not needed. */
const MAX_BODY_BYTES = 65_536;

/** What a request that costs nothing has shown. */
export type Look =
  | { readonly kind: 'answered' }
  /** A server runs there, but none of the routes exists. */
  | { readonly kind: 'unclear' }
  | { readonly kind: 'failed'; readonly reason: FallbackReason }
  /** This gateway had no descriptor left for a connection. */
  | { readonly kind: 'not_asked' };

/** Null where there is nothing to ask. */
export type LookAt = (id: string) => Promise<Look> | null;

/** An upstream that refuses the key is up: the circuit is about whether it answers. Null: nothing was learned. */
export function isUp(look: Look): boolean | null {
  if (look.kind === 'not_asked') return null;
  return look.kind !== 'failed' || look.reason === 'credentials';
}

/**
 * Looks at an upstream or a machine by routes that cost nothing; null where there is none. `ondemand` is
 * never asked, as any request may start a GPU that is paid for, and hosted upstreams are not under
 * zero-spend.
 */
export function lookAtUpstream(deps: HealthCheckRoutesDeps): LookAt {
  const { config, remotes } = deps;
  return (id) => {
    if (id === 'local' || id.startsWith(PROVIDER_PREFIX)) return lookAtLocal(id, deps);
    const upstream = remotes().find((remote) => remote.id === id);
    const isHosted = HOSTED_IDS.some((hosted) => hosted === id);
    if (upstream === undefined || !isHosted || config().routing.forceZero) return null;
    return lookAtHosted(upstream, deps);
  };
}

function lookAtLocal(id: string, deps: HealthCheckRoutesDeps): Promise<Look> | null {
  const choice = deps.pickLocal();
  const isPool = id === 'local';
  switch (choice.kind) {
    case 'none':
      return null;
    case 'target':
      return isPool ? lookAtMachine(choice.target, deps) : null;
    case 'tier': {
      const { targets } = choice;
      if (isPool) {
        const admits = (target: LocalTarget) =>
          deps.circuits.exclusionOf(idOf(target), '') === null;
        return Promise.resolve(targets.some(admits) ? ANSWERED : failed('no_provider'));
      }
      const target = targets.find(({ provider }) => provider === id);
      return target === undefined ? null : lookAtMachine(target, deps);
    }
  }
}

function lookAtMachine(
  { baseAddress, gatewayToken }: LocalTarget,
  deps: HealthCheckRoutesDeps,
): Promise<Look> {
  const headers = listHeaders({ baseAddress, apiKey: null, headers: {} });
  if (gatewayToken !== null) headers.push('x-gateway-token', gatewayToken);
  return lookBy({ baseAddress, paths: ['/health', '/v1/models'], headers, isOwn: true }, deps);
}

function lookAtHosted(upstream: RemoteUpstream, deps: HealthCheckRoutesDeps): Promise<Look> {
  const { baseAddress } = upstream;
  const headers = listHeaders(upstream);
  return lookBy({ baseAddress, paths: ['/models'], headers, isOwn: false }, deps);
}

interface LookRequest {
  readonly baseAddress: BaseAddress;
  /** Tried in order until one exists. */
  readonly paths: readonly string[];
  readonly headers: readonly string[];
  /** An engine's key is the caller's, so without one a refusal says nothing. */
  readonly isOwn: boolean;
}

async function lookBy(
  { baseAddress, paths, headers, isOwn }: LookRequest,
  deps: HealthCheckRoutesDeps,
): Promise<Look> {
  const { http, clock } = deps;
  const { origin, basePath, query } = baseAddress;
  for (const path of paths) {
    const request = { origin, path: basePath + path + query, headers };
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BODY_BYTES };
    const result = await fetchBody({ ...request, ...limits }, { http, clock });
    const seen = seenIn(result, isOwn);
    if (seen !== null) return seen;
  }
  return UNCLEAR;
}

const ANSWERED: Look = { kind: 'answered' };
const UNCLEAR: Look = { kind: 'unclear' };
const NOT_ASKED: Look = { kind: 'not_asked' };
const failed = (reason: FallbackReason): Look => ({ kind: 'failed', reason });

/** Null where the route does not exist. */
function seenIn(result: FetchResult, isOwn: boolean): Look | null {
  if (result.kind === 'exhausted') return NOT_ASKED;
  if (result.kind !== 'response' && result.kind !== 'too_large') {
    return failed(result.kind === 'timed_out' ? 'timeout' : 'unreachable');
  }
  const { status } = result;
  if (status === 404 || status === 405 || status === 501) return null;
  if (status >= 300) return refused(status, isOwn);
  // A list of models may be long.
  return result.kind === 'too_large' ? ANSWERED : answerIn(result.body, isOwn);
}

function refused(status: number, isOwn: boolean): Look {
  if (status === 429) return failed('rate_limited');
  if (status >= 500) return failed(`http_${status}`);
  if (status === 401 || status === 403) return isOwn ? ANSWERED : failed('credentials');
  return UNCLEAR;
}

/** An agent may be up without its engine, and reports that. A site at the base URL answers with a page. */
function answerIn(body: Buffer, isOwn: boolean): Look {
  const answer = parseJson(body.toString());
  if (!isObject(answer)) return isOwn || Array.isArray(answer) ? ANSWERED : UNCLEAR;
  const engine = answer['engine_health'];
  return isObject(engine) && engine['status'] !== 'ok' ? failed('unreachable') : ANSWERED;
}
