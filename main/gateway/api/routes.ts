import type { Access, Route } from '../../platform/http/routes.ts';
import { handleChat } from '../chat/handler.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { ENDPOINTS } from '../protocols/endpoints.ts';

/** Endpoints that upstreams serve. They bypass Express, which would cost CPU time on each request. */
export const ENDPOINT_ROUTES = ENDPOINTS.map(endpointRoute);

function endpointRoute(endpoint: ApiEndpoint) {
  return { method: 'POST', endpoint, access: 'callers', handle: handleChat } as const;
}

/** A route that returns its answer. */
export function route(
  method: Route['method'],
  paths: Route['paths'],
  access: Access,
  answer: Extract<Route, { readonly answer: unknown }>['answer'],
): Route {
  return { method, paths, access, answer };
}

/** A route that writes its answer itself. */
export function ownRoute(
  method: Route['method'],
  paths: Route['paths'],
  access: Access,
  handle: Extract<Route, { readonly handle: unknown }>['handle'],
): Route {
  return { method, paths, access, handle };
}
