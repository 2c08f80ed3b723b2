import { answered, route, type Route } from '../platform/http/routes.ts';
import { providerNotFound } from './responses.ts';
import type { Registry } from './registry.ts';

/** Fixed paths come before those with an id. */
export function registryRoutes(registry: Registry): readonly Route[] {
  return [
    route('POST', '/api/v1/providers/enroll', 'agents', registry.handleEnroll),
    route('POST', '/api/v1/providers/heartbeat', 'agents', registry.handleHeartbeat),
    route('POST', '/api/v1/providers/enrollments', 'control', ({ gatewayUrl }) =>
      registry.newEnrollment(gatewayUrl),
    ),
    route('GET', '/api/v1/providers', 'callers', ({ query }) => registry.list(query)),
    route('GET', '/api/v1/providers/notes', 'callers', () => answered(registry.notes())),
    route('GET', '/api/v1/providers/:id', 'callers', ({ params: { id = '' } }) => {
      const provider = registry.get(id);
      return provider === null ? providerNotFound(id) : answered(provider);
    }),
    route('DELETE', '/api/v1/providers/:id', 'control', ({ params: { id = '' } }) =>
      registry.remove(id),
    ),
    route('PUT', '/api/v1/providers/:id/note', 'control', ({ params: { id = '' }, json }) =>
      registry.setNote(id, json),
    ),
    route('POST', '/api/v1/providers/:id/verify', 'control', ({ params: { id = '' } }) =>
      registry.requestVerification(id),
    ),
    route('GET', '/api/v1/providers/:id/history', 'callers', ({ params: { id = '' } }) =>
      registry.history(id),
    ),
  ];
}
