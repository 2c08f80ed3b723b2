import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from './programs.ts';

/** What the owner of a gateway, and the agents that it knows, ask of it; anything but success rejects. */
export interface Control {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  patch(path: string, body: unknown): Promise<void>;
  remove(path: string): Promise<void>;
  /** A message that an agent has signed. */
  send(message: {
    readonly path: string;
    readonly headers: object;
    readonly body: Buffer;
  }): Promise<void>;
}

/** Paths are those of /api/v1/. */
export function controlOf({
  port,
  dataDirectory,
}: Pick<Gateway, 'port' | 'dataDirectory'>): Control {
  const token = readFileSync(join(dataDirectory, 'control-token'), 'utf8').trim();
  const origin = `http://127.0.0.1:${port}`;
  async function ask(
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer> | null = null,
    more: object = {},
  ): Promise<string> {
    const json = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(origin + path, { method, headers: { ...json, ...more }, body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
    return text;
  }
  const api = (path: string) => `/api/v1/${path}`;
  return {
    get: async <T>(path: string) => JSON.parse(await ask('GET', api(path))) as T,
    post: async <T>(path: string, body: unknown) =>
      JSON.parse((await ask('POST', api(path), JSON.stringify(body))) || 'null') as T,
    patch: async (path, body) => void (await ask('PATCH', api(path), JSON.stringify(body))),
    remove: async (path) => void (await ask('DELETE', api(path))),
    send: async ({ path, headers, body }) =>
      void (await ask('POST', path, new Uint8Array(body), headers)),
  };
}
