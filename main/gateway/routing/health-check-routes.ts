import { HOSTED_IDS, PROVIDER_PREFIX } from '#shared/ids.ts';
import { isObject } from '#shared/objects.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { fetchBody } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { LocalChoice } from '../upstream/call.ts';
import { parseJson } from '../upstream/completion.ts';
import type { Endpoint, LocalTarget, RemoteUpstream } from '../upstream/upstreams.ts';
import { idOf } from './local-balancing.ts';

/** What a look needs of the world. */
export interface LookerDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly circuits: Circuits;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
}

/** Below the pace of looks. */
const TIMEOUT_MS = 4000;
/** Some list thousands of models: what follows this much says nothing more. */
const MOST_BYTES = 65_536;

/**
 * Looks at an upstream or a machine by routes that cost nothing. `ondemand` is left alone: a request of any
 * kind may wake up a GPU that is paid for; and so is whoever costs while nothing may be spent.
 */
export function healthCheckOf(deps: LookerDeps): (id: string) => Promise<boolean> | null {
  const { config, circuits, pickLocal, remotes } = deps;
  return (id) => {
    if (id === 'local' || id.startsWith(PROVIDER_PREFIX)) {
      const choice = pickLocal();
      if (choice.kind === 'none') return null;
      if (choice.kind === 'target') {
        return id === 'local' ? lookAtMachine(choice.target, deps) : null;
      }
      if (id === 'local') {
        return Promise.resolve(
          choice.targets.some((target) => circuits.exclusionOf(idOf(target), '') === null),
        );
      }
      const target = choice.targets.find(({ provider }) => provider === id);
      return target === undefined ? null : lookAtMachine(target, deps);
    }
    const upstream = remotes().find((remote) => remote.id === id);
    const isHosted = HOSTED_IDS.some((hosted) => hosted === id);
    if (upstream === undefined || !isHosted || config().routing.forceZero) return null;
    return lookAtHosted(upstream, deps);
  };
}

function lookAtMachine(
  { endpoint, gatewayToken }: LocalTarget,
  deps: LookerDeps,
): Promise<boolean> {
  const headers = authorized(endpoint.basicAuth);
  if (gatewayToken !== null) headers.push('x-gateway-token', gatewayToken);
  return look({ endpoint, paths: ['/health', '/v1/models'], headers }, deps);
}

function lookAtHosted(
  { endpoint, apiKey, headers }: RemoteUpstream,
  deps: LookerDeps,
): Promise<boolean> {
  const authorization = apiKey === null ? endpoint.basicAuth : `Bearer ${apiKey}`;
  const all = [...Object.entries(headers).flat(), ...authorized(authorization)];
  return look({ endpoint, paths: ['/models'], headers: all }, deps);
}

const authorized = (authorization: string | null): string[] =>
  authorization === null ? [] : ['authorization', authorization];

interface Place {
  readonly endpoint: Endpoint;
  /** In order: the next one where there is no such route. */
  readonly paths: readonly string[];
  readonly headers: readonly string[];
}

async function look({ endpoint, paths, headers }: Place, deps: LookerDeps): Promise<boolean> {
  for (const path of paths) {
    const seen = await glimpse(endpoint, path, headers, deps);
    if (seen === null) return false;
    if (seen.status !== 404 && seen.status !== 405 && seen.status !== 501) return isWell(seen);
  }
  // Where there is no such route, it has shown at least that somebody answers.
  return true;
}

interface Glimpse {
  readonly status: number;
  readonly body: Buffer;
}

/** Who refuses a key or asks for one is up. An agent is up without its engine, and says so. */
function isWell({ status, body }: Glimpse): boolean {
  if (status >= 500 || status === 429) return false;
  const said = parseJson(body.toString());
  const engine = isObject(said) ? said['engine_health'] : undefined;
  return !isObject(engine) || engine['status'] === 'ok';
}

/** Null when there was no answer. */
async function glimpse(
  { origin, basePath, query }: Endpoint,
  path: string,
  headers: readonly string[],
  { http, clock }: LookerDeps,
): Promise<Glimpse | null> {
  const seen = await fetchBody(
    {
      origin,
      path: basePath + path + query,
      headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
    },
    { http, clock },
  );
  if (seen.kind === 'too_large') return { status: seen.status, body: Buffer.alloc(0) };
  return seen.kind === 'response' ? seen : null;
}
