import { handleChat } from '../chat/handler.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';

/** Endpoints that upstreams serve. They bypass Express, which would cost CPU time on each request. */
export const ENDPOINT_ROUTES = ENDPOINTS.map(endpointRoute);

function endpointRoute(endpoint: ApiEndpoint) {
  return { method: 'POST', endpoint, access: 'callers', handle: handleChat } as const;
}
