import { agentRecordSchema, providerListSchema, providerSchema } from '#shared/provider.ts';
import {
  type Access,
  answered,
  type Route,
  type RouteRequest,
  type RouteSchemas,
} from '../platform/http/routes.ts';
import { noteBodySchema } from './owner-notes.ts';
import { providerNotFound } from './responses.ts';
import type { Registry } from './registry.ts';

/** Fixed paths come before those with an id. */
export function registryRoutes(registry: Registry): readonly Route[] {
  return [
    route('POST', '/api/v1/providers/enroll', 'agents', (message) =>
      registry.handleEnroll(message),
    ),
    route(
      'POST',
      '/api/v1/providers/heartbeat',
      'agents',
      (message) => registry.handleHeartbeat(message),
      { body: agentRecordSchema },
    ),
    route('POST', '/api/v1/providers/enrollments', 'control', ({ gatewayUrl }) =>
      registry.newEnrollment(gatewayUrl),
    ),
    route('GET', '/api/v1/providers', 'callers', ({ query }) => registry.list(query), {
      answer: providerListSchema,
    }),
    route('GET', '/api/v1/providers/notes', 'callers', () => answered(registry.notes())),
    route(
      'GET',
      '/api/v1/providers/:id',
      'callers',
      (request) => {
        const id = idOf(request);
        const provider = registry.get(id);
        return provider === null ? providerNotFound(id) : answered(provider);
      },
      { answer: providerSchema },
    ),
    route('DELETE', '/api/v1/providers/:id', 'control', (request) =>
      registry.remove(idOf(request)),
    ),
    route(
      'PUT',
      '/api/v1/providers/:id/note',
      'control',
      (request) => registry.setNote(idOf(request), request.json),
      { body: noteBodySchema },
    ),
    route('POST', '/api/v1/providers/:id/verify', 'control', (request) =>
      registry.requestVerification(idOf(request)),
    ),
    route('GET', '/api/v1/providers/:id/history', 'callers', (request) =>
      registry.history(idOf(request), request.query),
    ),
  ];
}

function route(
  method: Route['method'],
  path: string,
  access: Access,
  answer: Extract<Route, { readonly answer: unknown }>['answer'],
  schemas: RouteSchemas = {},
): Route {
  return { method, paths: [path], access, answer, schemas };
}

const idOf = ({ params }: RouteRequest): string => params['id'] ?? '';
