import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { type HttpAnswer, postJson, send } from '../support/http.ts';
import { startMachine, startTier, type Tier } from '../support/tier.ts';
import { answers } from '../support/upstream.ts';

interface Media {
  readonly 'application/json'?: { readonly schema?: { readonly $ref: string } };
}

interface Operation {
  readonly requestBody?: { readonly content: Media };
  readonly responses: Readonly<Record<'2XX' | 'default', { readonly content?: Media }>>;
}

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function documentOf({ url }: Pick<Tier, 'url'>): Promise<OpenApi> {
  const { status, text } = await send(`${url}/api/v1/openapi.json`);
  expect(status).toBe(200);
  return JSON.parse(text) as OpenApi;
}

/** What a JSON Schema validator finds wrong, as a reader of the document would run it. */
function problemsWith(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return (content: Media | undefined, value: unknown) => {
    const reference = content?.['application/json']?.schema?.$ref;
    if (reference === undefined) throw new Error('the document names no schema');
    const validate = ajv.getSchema(`openapi${reference}`);
    if (validate === undefined) throw new Error(`the document has no ${reference}`);
    return validate(value) ? [] : validate.errors;
  };
}

/** The rows of the reference, as the document writes them; the endpoints and models answer under `/api` too. */
function routesOfReference(): readonly string[] {
  const page = join(import.meta.dirname, '../../docs/reference/http-api.md');
  const section = readFileSync(page, 'utf8').split('\n## Routes\n')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').flatMap((line) => line.match(/^\| (`[^|]+) \|/)?.[1] ?? []);
  const routes = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z]+) ([^`]+)`/g)]);
  return routes
    .map(([, method, path]) => `${method} ${path?.replace(/[:*](\w+)/g, '{$1}')}`)
    .filter((route) => route !== 'GET /')
    .flatMap((route) =>
      route.includes(' /v1/') ? [route, route.replace(' /v1', ' /api/v1')] : route,
    );
}

test('the OpenAPI document is valid', async () => {
  const document = await documentOf(await startTier([]));
  const { valid, errors } = await new Validator().validate({ ...document });
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
  expect(document.openapi).toMatch(/^3\.1\./);
});

test('the OpenAPI document has the routes of the reference, and no others', async () => {
  const { paths } = await documentOf(await startTier([]));
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.toSorted()).toEqual(routesOfReference().toSorted());
});

test('real answers fit the schemas that the OpenAPI document names', async () => {
  const machine = await startMachine(answers('hi'));
  const tier = await startTier([machine]);
  const { url, control } = tier;
  expect((await postJson(`${url}/v1/chat/completions`, HELLO)).status).toBe(200);
  const document = await documentOf(tier);
  const problems = problemsWith(document);
  const read = async (template: string, path = template): Promise<unknown> => {
    const { status, text } = await send(url + path, { headers: control });
    expect([path, status]).toEqual([path, 200]);
    const value: unknown = JSON.parse(text);
    const { content } = document.paths[template]?.['get']?.responses['2XX'] ?? {};
    expect([path, problems(content, value)]).toEqual([path, []]);
    expect([path, problems(content, { data: 1 })]).not.toEqual([path, []]);
    return value;
  };
  await read('/api/v1/status');
  await read('/api/v1/providers');
  await read('/api/v1/providers/{id}', `/api/v1/providers/${machine.id}`);
  await read('/api/v1/settings');
  const page = (await read('/api/v1/requests')) as { data: readonly { id: string }[] };
  const [request] = page.data;
  expect(request).toBeDefined();
  await read('/api/v1/requests/{id}', `/api/v1/requests/${request?.id}`);
});

test('errors of every route fit the schema that the OpenAPI document names', async () => {
  const { url, control } = await startTier([]);
  const document = await documentOf({ url });
  const problems = problemsWith(document);
  const fits = (path: string, method: string, answer: HttpAnswer) => {
    expect(answer.status).toBeGreaterThanOrEqual(400);
    const content = document.paths[path]?.[method]?.responses.default.content;
    expect([path, problems(content, JSON.parse(answer.text))]).toEqual([path, []]);
  };
  fits('/v1/chat/completions', 'post', await postJson(`${url}/v1/chat/completions`, {}));
  fits('/v1/models/{id}', 'get', await send(`${url}/v1/models/nothing`));
  fits('/api/v1/settings', 'get', await send(`${url}/api/v1/settings`));
  fits('/api/v1/providers/{id}', 'get', await send(`${url}/api/v1/providers/prv_none`));
  const mode = await postJson(`${url}/api/v1/agent/mode`, { mode: 'rest' }, control);
  fits('/api/v1/agent/mode', 'post', mode);
});

test('the OpenAPI document says of a change of the settings what the gateway says', async () => {
  const tier = await startTier([]);
  const document = await documentOf(tier);
  const problems = problemsWith(document);
  const content = document.paths['/api/v1/settings']?.['patch']?.requestBody?.content;
  const changes = [
    [{ circuit: { failThreshold: 5 } }, 200],
    [{ circuit: { failThreshold: null } }, 200],
    [{ circuit: { failThreshold: 'many' } }, 400],
    [{ routing: { nothing: 1 } }, 400],
  ] as const;
  for (const [change, status] of changes) {
    expect([change, (await tier.patch(change)).status]).toEqual([change, status]);
    const found = problems(content, change);
    expect([change, found?.length === 0]).toEqual([change, status === 200]);
  }
});
