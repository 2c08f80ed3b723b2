import type { Clock } from '../../platform/clock.ts';
import { type BodyRequest, fetchBody, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { ANTHROPIC_VERSION } from './headers.ts';
import type { RemoteUpstream } from './upstreams.ts';

// What the gateway asks by itself: for a list of models, and for health.

type Source = Pick<RemoteUpstream, 'baseAddress' | 'apiKey' | 'headers'>;

/** A GET of `path` below the base address, with the upstream's key and headers. Never rejects. */
export function getFrom(
  source: Source,
  path: string,
  limits: Pick<BodyRequest, 'timeoutMs' | 'maxBytes'>,
  { http, clock }: { readonly http: HttpClient; readonly clock: Clock },
): Promise<FetchResult> {
  const { origin, basePath, query, proxied } = source.baseAddress;
  const request = { origin, path: basePath + path + query, headers: listHeaders(source), proxied };
  return fetchBody({ ...request, ...limits }, { http, clock });
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
