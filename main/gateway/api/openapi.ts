import { z } from 'zod';
import { errorBodySchema } from '#shared/errors.ts';
import { type Access, answered, type Route } from '../../platform/http/routes.ts';
import { ENDPOINT_ROUTES, route } from './routes.ts';

interface OpenApiDeps {
  /** All that Express serves besides the window. */
  readonly routes: () => readonly Route[];
  readonly version: () => string;
}

export function openApiRoute({ routes, version }: OpenApiDeps): Route {
  let document: object | null = null;
  return route('GET', ['/api/v1/openapi.json'], 'callers', () => {
    document ??= openApiDocument(routes(), version());
    return answered(document);
  });
}

/** One row of a table, whichever it is in. */
interface Described extends Pick<Route, 'method' | 'paths' | 'access' | 'schemas'> {
  /** Media type of the body where no schema describes it. */
  readonly takes?: string;
  /** `other`: in the shape of another vendor. */
  readonly errors: 'own' | 'other';
}

/** The API in OpenAPI 3.1, from the tables of the routes and the schemas in them. */
function openApiDocument(routes: readonly Route[], version: string) {
  const endpoints = ENDPOINT_ROUTES.map(({ method, endpoint, access }): Described => {
    const takes = endpoint.body === 'json' ? 'application/json' : 'multipart/form-data';
    return { method, access, paths: endpoint.paths, takes, errors: errorsOf(endpoint.vendor) };
  });
  const all = [...endpoints, ...routes.map((each): Described => ({ ...each, errors: 'own' }))];
  const paths: Record<string, Record<string, object>> = {};
  for (const each of all) {
    for (const path of each.paths) {
      const operations = (paths[templateOf(path)] ??= {});
      operations[each.method.toLowerCase()] = operationOf(each, path);
    }
  }
  const bodies = routes.flatMap(({ schemas }) => schemas?.body ?? []);
  const answers = routes.flatMap(({ schemas }) => schemas?.answer ?? []);
  return {
    openapi: '3.1.1',
    info: { title: 'Inglenook', version, description: DESCRIPTION },
    paths,
    components: {
      schemas: {
        ...namedSchemas(bodies, 'input'),
        ...namedSchemas([...answers, errorBodySchema], 'output'),
      },
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const errorsOf = (vendor: 'openai' | 'anthropic') => (vendor === 'openai' ? 'own' : 'other');

const DESCRIPTION =
  'Routes that take GET take HEAD. Endpoints that upstreams serve take and answer what OpenAI and Anthropic document; their bodies are not described here.';

const SECURITY_SCHEMES = {
  key: { type: 'http', scheme: 'bearer', description: 'An API key of the gateway.' },
  keyHeader: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  gatewayKeyHeader: { type: 'apiKey', in: 'header', name: 'X-Gateway-Key' },
  ownerToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The control token, or the token of a signed-in session.',
  },
  agentSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description: 'An HTTP message signature (RFC 9421) of the agent.',
  },
};

/** An empty object allows a request without credentials: there may be no key. */
const SECURITY: Readonly<
  Record<Access, readonly Partial<Record<keyof typeof SECURITY_SCHEMES, []>>[]>
> = {
  anyone: [],
  callers: [{}, { key: [] }, { keyHeader: [] }, { gatewayKeyHeader: [] }, { ownerToken: [] }],
  control: [{ ownerToken: [] }],
  agents: [{ agentSignature: [] }],
};

function operationOf({ access, schemas = {}, takes, errors }: Described, path: string) {
  const { body, answer } = schemas;
  const content = body === undefined ? takes && { [takes]: {} } : jsonOf(body);
  const parameters = namesIn(path).map((name) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  return {
    security: SECURITY[access],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(content ? { requestBody: { required: true, content } } : {}),
    responses: {
      '2XX': {
        description: 'The answer.',
        ...(answer === undefined ? {} : { content: jsonOf(answer) }),
      },
      default: {
        description: 'An error.',
        ...(errors === 'own' ? { content: jsonOf(errorBodySchema) } : {}),
      },
    },
  };
}

/** Of Express: `:id` is one part of a path, `*id` the rest of it. */
const PARAMETER = /[:*](\w+)/g;

const templateOf = (path: string): string => path.replace(PARAMETER, '{$1}');

function namesIn(path: string): readonly string[] {
  return [...path.matchAll(PARAMETER)].flatMap(([, name]) => name ?? []);
}

const referenceTo = (id: string): string => `#/components/schemas/${id}`;

function jsonOf(schema: z.ZodType) {
  return { 'application/json': { schema: { $ref: referenceTo(nameOf(schema)) } } };
}

function nameOf(schema: z.ZodType): string {
  const id = schema.meta()?.id;
  if (id === undefined)
    throw new Error('A schema of a route has no name; give it one in its meta.');
  return id;
}

/** @param io transforms and defaults: what is taken, or what is given */
function namedSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output') {
  const named = z.registry<{ id: string }>();
  for (const schema of new Set(schemas)) named.add(schema, { id: nameOf(schema) });
  const made = z.toJSONSchema(named, { io, uri: referenceTo, unrepresentable: 'any' });
  return Object.fromEntries(
    // OpenAPI names schemas by their place and says once which dialect they are in.
    Object.entries(made.schemas).map(([id, { $id: _id, $schema: _dialect, ...schema }]) => [
      id,
      schema,
    ]),
  );
}
