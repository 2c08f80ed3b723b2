import { HOSTED_IDS, PROVIDER_PREFIX } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { LocalChoice } from '../upstream/call.ts';
import { parseJson } from '../../platform/json.ts';
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

/**
 * The check of an upstream or a machine, by routes that cost nothing; null where there is none. `ondemand` is
 * never checked, as any request may start a GPU that is paid for, and hosted upstreams are not under
 * zero-spend.
 */
export function healthCheckOf(
  deps: HealthCheckRoutesDeps,
): (id: string) => Promise<boolean> | null {
  const { config, remotes } = deps;
  return (id) => {
    if (id === 'local' || id.startsWith(PROVIDER_PREFIX)) return checkLocal(id, deps);
    const upstream = remotes().find((remote) => remote.id === id);
    const isHosted = HOSTED_IDS.some((hosted) => hosted === id);
    if (upstream === undefined || !isHosted || config().routing.forceZero) return null;
    return checkHosted(upstream, deps);
  };
}

function checkLocal(id: string, deps: HealthCheckRoutesDeps): Promise<boolean> | null {
  const choice = deps.pickLocal();
  const isPool = id === 'local';
  switch (choice.kind) {
    case 'none':
      return null;
    case 'target':
      return isPool ? checkMachine(choice.target, deps) : null;
    case 'tier': {
      const { targets } = choice;
      if (isPool) {
        const admits = (target: LocalTarget) =>
          deps.circuits.exclusionOf(idOf(target), '') === null;
        return Promise.resolve(targets.some(admits));
      }
      const target = targets.find(({ provider }) => provider === id);
      return target === undefined ? null : checkMachine(target, deps);
    }
  }
}

function checkMachine(
  { endpoint, gatewayToken }: LocalTarget,
  deps: HealthCheckRoutesDeps,
): Promise<boolean> {
  const headers = authorized(endpoint.basicAuth);
  if (gatewayToken !== null) headers.push('x-gateway-token', gatewayToken);
  return check({ endpoint, paths: ['/health', '/v1/models'], headers }, deps);
}

function checkHosted(
  { endpoint, apiKey, headers }: RemoteUpstream,
  deps: HealthCheckRoutesDeps,
): Promise<boolean> {
  const authorization = apiKey === null ? endpoint.basicAuth : `Bearer ${apiKey}`;
  const all = [...Object.entries(headers).flat(), ...authorized(authorization)];
  return check({ endpoint, paths: ['/models'], headers: all }, deps);
}

const authorized = (authorization: string | null): string[] =>
  authorization === null ? [] : ['authorization', authorization];

interface CheckRequest {
  readonly endpoint: BaseAddress;
  /** Tried in order until one exists. */
  readonly paths: readonly string[];
  readonly headers: readonly string[];
}

async function check(
  { endpoint, paths, headers }: CheckRequest,
  deps: HealthCheckRoutesDeps,
): Promise<boolean> {
  for (const path of paths) {
    const response = await getStart(endpoint, path, headers, deps);
    if (response === null) return false;
    const { status } = response;
    if (status !== 404 && status !== 405 && status !== 501) return isWell(response);
  }
  // Without any of the routes, an answer at least shows that a server is running.
  return true;
}

interface CheckResponse {
  readonly status: number;
  /** Empty where it is over the limit. */
  readonly body: Buffer;
}

/** An upstream that refuses the key is up. An agent may be up without its engine, and reports that. */
function isWell({ status, body }: CheckResponse): boolean {
  if (status >= 500 || status === 429) return false;
  const health = parseJson(body.toString());
  const engine = isObject(health) ? health['engine_health'] : undefined;
  return !isObject(engine) || engine['status'] === 'ok';
}

/** Null when there was no answer. */
async function getStart(
  { origin, basePath, query }: BaseAddress,
  path: string,
  headers: readonly string[],
  { http, clock }: HealthCheckRoutesDeps,
): Promise<CheckResponse | null> {
  const request = { origin, path: basePath + path + query, headers };
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BODY_BYTES };
  const response = await fetchBody({ ...request, ...limits }, { http, clock });
  if (response.kind === 'too_large') return { status: response.status, body: Buffer.alloc(0) };
  return response.kind === 'response' ? response : null;
}
