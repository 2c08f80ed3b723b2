import { expect } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import type { AddedKey } from '#shared/keys.ts';
import { providerSchema } from '#shared/provider.ts';
import type { SettingView } from '#shared/settings-view.ts';
import { statusReportSchema } from '#shared/status.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { bearer, postJson, send } from './http.ts';

/** What `GET /api/v1/settings` answers. */
export type Settings = Readonly<Record<string, Readonly<Record<string, SettingView>>>>;

/** What its owner does with a gateway; paths are those under `/api/v1/`. */
export function controlOf({ url, dataDirectory }: Pick<TestGateway, 'url' | 'dataDirectory'>) {
  const control = bearer(readControlToken(dataDirectory) ?? '');
  const call = (method: string, path: string, body?: unknown) =>
    send(`${url}/api/v1/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...control },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  /** What must be there. */
  async function read<T>(path: string): Promise<T> {
    const answer = await call('GET', path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as T;
  }
  const post = (path: string, body: unknown = {}) => call('POST', path, body);
  const patch = (tree: unknown) => call('PATCH', 'settings', tree);
  return {
    control,
    call,
    read,
    post,
    patch,
    settings: () => read<Settings>('settings'),
    /** A patch that must be taken. */
    set: async (tree: unknown) => {
      const answer = await patch(tree);
      expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/^\{"local"/)]);
      return JSON.parse(answer.text) as Settings;
    },
    /** The report, held against the strict schema. */
    status: async () => statusReportSchema.parse(await read('status')),
    /** A machine as the registry lists it, held against the strict schema. */
    provider: async (id: string) => providerSchema.parse(await read(`providers/${id}`)),
    agent: () => read<AgentView>('agent'),
    /** A new key for apps. */
    key: async (name: string, limits: Readonly<Record<string, number | null>> = {}) => {
      const added = await post('keys', { name, limits });
      expect(added.status).toBe(201);
      return (JSON.parse(added.text) as AddedKey).key;
    },
    /** A token with which one machine may join. */
    joinToken: async () => {
      const made = await post('providers/enrollments');
      expect(made.status).toBe(201);
      return (JSON.parse(made.text) as { readonly token: string }).token;
    },
  };
}

/** A gateway and somebody who controls it. */
export type Controlled = TestGateway & ReturnType<typeof controlOf>;

/** Starts one, as `startGateway` does. */
export async function startControlled(
  ...args: Parameters<typeof startGateway>
): Promise<Controlled> {
  const gateway = await startGateway(...args);
  return { ...gateway, ...controlOf(gateway) };
}

/** Exchanges the one-time code of a sign-in link for a session. */
export async function redeem(link: string) {
  const { origin, hash } = new URL(link);
  const answer = await postJson(`${origin}/api/v1/sessions`, { code: hash.slice('#code='.length) });
  return { status: answer.status, token: (JSON.parse(answer.text) as { token?: string }).token };
}
