import { answered, route, type Route, type RouteRequest } from '../platform/http/routes.ts';
import { providerNotFound } from './responses.ts';
import type { Registry } from './registry.ts';

/** Fixed paths come before those with an id. */
export function registryRoutes(registry: Registry): readonly Route[] {
  return [
    route('POST', '/api/v1/providers/enroll', 'agents', (message) =>
      registry.handleEnroll(message),
    ),
    route('POST', '/api/v1/providers/heartbeat', 'agents', (message) =>
      registry.handleHeartbeat(message),
    ),
    route('POST', '/api/v1/providers/enrollments', 'control', ({ gatewayUrl }) =>
      registry.newEnrollment(gatewayUrl),
    ),
    route('GET', '/api/v1/providers', 'callers', ({ query }) => registry.list(query)),
    route('GET', '/api/v1/providers/notes', 'callers', () => answered(registry.notes())),
    route('GET', '/api/v1/providers/:id', 'callers', (request) => {
      const id = idOf(request);
      const provider = registry.get(id);
      return provider === null ? providerNotFound(id) : answered(provider);
    }),
    route('DELETE', '/api/v1/providers/:id', 'control', (request) =>
      registry.remove(idOf(request)),
    ),
    route('PUT', '/api/v1/providers/:id/note', 'control', (request) =>
      registry.setNote(idOf(request), request.json),
    ),
    route('POST', '/api/v1/providers/:id/verify', 'control', (request) =>
      registry.requestVerification(idOf(request)),
    ),
    route('GET', '/api/v1/providers/:id/history', 'callers', (request) =>
      registry.history(idOf(request), request.query),
    ),
  ];
}

const idOf = ({ params }: RouteRequest): string => params['id'] ?? '';
