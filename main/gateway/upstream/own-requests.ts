import {
  type BodyRequest,
  fetchBody,
  type FetchEdges,
  type FetchResult,
} from '../../platform/http/fetch-body.ts';
import { ANTHROPIC_VERSION } from './call.ts';
import type { RemoteUpstream } from './upstreams.ts';

// What the gateway asks by itself: for a list of models, and for health.

export type Source = Pick<RemoteUpstream, 'baseAddress' | 'apiKey' | 'headers'>;

export type BodyLimits = Pick<BodyRequest, 'timeoutMs' | 'maxBytes'>;

/** A GET with the upstream's key and headers. Never rejects. */
function getFrom(
  source: Source,
  path: string,
  limits: BodyLimits,
  { http, clock }: FetchEdges,
): Promise<FetchResult> {
  const { origin, query, proxied } = source.baseAddress;
  const request = { origin, path: path + query, headers: listHeaders(source), proxied };
  return fetchBody({ ...request, ...limits }, { http, clock });
}

/** The list of models as the upstream sends it. Never rejects. */
export const fetchModelList = (source: Source, limits: BodyLimits, edges: FetchEdges) =>
  getFrom(source, `${source.baseAddress.apiPath}/models`, limits, edges);

/** Whether an answer only says that there is no such route. */
export const lacksRoute = (result: FetchResult): boolean =>
  'status' in result && [404, 405, 501].includes(result.status);

/** Asks an engine whether it is up; one without `/health` for its list of models. Never rejects. */
export async function getHealth(
  source: Source,
  limits: BodyLimits,
  edges: FetchEdges,
): Promise<FetchResult> {
  const health = await getFrom(source, `${source.baseAddress.basePath}/health`, limits, edges);
  return lacksRoute(health) ? fetchModelList(source, limits, edges) : health;
}

/** Names and values in turn. Anthropic accepts a key for its list only in headers of its own. */
export function listHeaders({
  baseAddress: { origin, basicAuth },
  apiKey,
  headers,
}: Source): string[] {
  const extra = Object.entries(headers).flat();
  if (origin === 'https://api.anthropic.com' && apiKey !== null) {
    return [...extra, 'x-api-key', apiKey, ...ANTHROPIC_VERSION];
  }
  const authorization = apiKey === null ? basicAuth : `Bearer ${apiKey}`;
  return authorization === null ? extra : [...extra, 'authorization', authorization];
}
