import { parseVisible } from '#shared/visible.ts';

const TOKEN_KEY = 'switchyard.session';

/** The edges the client needs; a test hands in its own. */
interface ClientEdges {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
}

/** Calls the gateway and carries the control session, if there is one. */
export interface Client {
  /** True while a session token is held. */
  hasSession: () => boolean;
  /** Sends the token along; a refused token is dropped and the call made again without it. */
  request: (path: string, init?: RequestInit) => Promise<Response>;
  /** Exchanges a one-time code for a session; answers what went wrong, or null. */
  redeem: (code: string) => Promise<string | null>;
}

/** The token is kept in the given storage only. */
export function createClient({ fetch, storage }: ClientEdges): Client {
  const send = (path: string, init: RequestInit, token: string | null): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (token) headers.set('Authorization', `Bearer ${token}`);
    return fetch(path, { ...init, headers, cache: 'no-store' });
  };

  const request: Client['request'] = async (path, init = {}) => {
    const token = storage.getItem(TOKEN_KEY);
    const response = await send(path, init, token);
    if (response.status !== 401 || !token) return response;
    storage.removeItem(TOKEN_KEY);
    await response.body?.cancel();
    return send(path, init, null);
  };

  const redeem: Client['redeem'] = async (code) => {
    try {
      const response = await send('/api/v1/sessions', jsonBody('POST', { code }), null);
      if (!response.ok) return (await refusalOf(response)).message;
      const answer = (await response.json()) as { readonly token?: unknown };
      if (typeof answer.token !== 'string') return 'The gateway answered without a session.';
      storage.setItem(TOKEN_KEY, answer.token);
      return null;
    } catch {
      return NO_ANSWER.message;
    }
  };

  return { hasSession: () => storage.getItem(TOKEN_KEY) !== null, request, redeem };
}

/** Request options for a JSON body. */
export function jsonBody(method: 'POST' | 'PUT' | 'PATCH', body: unknown): RequestInit {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

export interface Refusal {
  readonly message: string;
  /** The part of the call that it is about, such as a setting's path; null for the call as a whole. */
  readonly param: string | null;
}

export const NO_ANSWER: Refusal = {
  message: 'The gateway did not answer. Is it still running?',
  param: null,
};

/** The server's own words for a refused call, else its status. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const fallback = `The gateway answered ${response.status}.`;
  try {
    const { error } = parseVisible(await response.text()) as {
      readonly error?: { readonly message?: unknown; readonly param?: unknown };
    };
    const message = error?.message;
    const param = error?.param;
    return {
      message: typeof message === 'string' && message !== '' ? message : fallback,
      param: typeof param === 'string' ? param : null,
    };
  } catch {
    return { message: fallback, param: null };
  }
}
