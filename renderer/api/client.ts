import { parseVisible } from '#shared/visible.ts';
import { t } from '../text/t.ts';

const TOKEN_KEY = 'switchyard.session';
const BROWSER_KEY = 'switchyard.browser';
const API_KEY = 'switchyard.key';

/** The client's dependencies; tests pass in their own. */
interface ClientEdges {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** Cleared when the tab is closed. */
  readonly storage: Store;
  /** Persistent: for a browser that the gateway remembers. */
  readonly standing?: Store;
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Calls the gateway, with the token of the control session if there is one. */
export interface Client {
  /** True while the client has the token of a session or of a remembered browser. */
  hasSession: () => boolean;
  /** Sends the token; if it is refused, drops it and repeats the call without it. */
  request: (path: string, init?: RequestInit) => Promise<Response>;
  /** Exchanges a single-use code for a session; resolves with an error message, or null. */
  redeem: (code: string) => Promise<string | null>;
  /** Asks the gateway to remember this browser; resolves with an error message, or null. */
  remember: (name: string) => Promise<string | null>;
  /** Deletes the persistent token from this browser. */
  forgetHere: () => void;
  /** Reads with an API key from now on; resolves with an error message, or null. */
  unlock: (key: string) => Promise<string | null>;
}

/** Tokens are kept only in the given storages. */
export function createClient({ fetch, storage, standing = storage }: ClientEdges): Client {
  const send = (path: string, init: RequestInit, token: string | null): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (token) headers.set('Authorization', `Bearer ${token}`);
    return fetch(path, { ...init, headers, cache: 'no-store' });
  };

  const control = [
    { store: storage, name: TOKEN_KEY },
    { store: standing, name: BROWSER_KEY },
  ];

  const request: Client['request'] = async (path, init = {}) => {
    for (const { store, name } of control) {
      const token = store.getItem(name);
      if (token === null) continue;
      const response = await send(path, init, token);
      if (response.status !== 401) return response;
      store.removeItem(name);
      await response.body?.cancel();
    }
    return send(path, init, storage.getItem(API_KEY));
  };

  const redeem: Client['redeem'] = async (code) => {
    try {
      const response = await send('/api/v1/sessions', jsonBody('POST', { code }), null);
      if (!response.ok) return (await refusalOf(response)).message;
      const answer = (await response.json()) as { readonly token?: unknown };
      if (typeof answer.token !== 'string') return t.shell.errors.noSession;
      storage.setItem(TOKEN_KEY, answer.token);
      return null;
    } catch {
      return NO_ANSWER.message;
    }
  };

  const remember: Client['remember'] = async (name) => {
    try {
      const response = await request('/api/v1/browsers', jsonBody('POST', { name }));
      if (!response.ok) return (await refusalOf(response)).message;
      const { token } = (await response.json()) as { readonly token: string };
      standing.setItem(BROWSER_KEY, token);
      return null;
    } catch {
      return NO_ANSWER.message;
    }
  };

  const unlock: Client['unlock'] = async (key) => {
    try {
      const response = await send('/api/v1/status', {}, key);
      await response.body?.cancel();
      if (response.status === 401) return t.shell.errors.wrongKey;
      storage.setItem(API_KEY, key);
      return null;
    } catch {
      return NO_ANSWER.message;
    }
  };

  return {
    hasSession: () => control.some(({ store, name }) => store.getItem(name) !== null),
    request,
    redeem,
    remember,
    forgetHere: () => standing.removeItem(BROWSER_KEY),
    unlock,
  };
}

/** Request options for a JSON body. */
export function jsonBody(method: 'POST' | 'PUT' | 'PATCH', body: unknown): RequestInit {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

export interface Refusal {
  readonly message: string;
  /** The part of the call at fault, such as a setting's path; null for the call as a whole. */
  readonly param: string | null;
}

export const NO_ANSWER: Refusal = {
  message: t.shell.errors.noAnswer,
  param: null,
};

/** The server's error message for a refused call, otherwise its status. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const fallback = t.shell.errors.status(response.status);
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

/** `status` is null if there was no response. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal; readonly status: number | null };

/** Failures are values, not exceptions. */
export interface Caller {
  /** The raw response; null if there was none. */
  send: (path: string, init?: RequestInit) => Promise<Response | null>;
  call: (path: string, init?: RequestInit) => Promise<Answer<unknown>>;
  /** A call whose only result is success or a refusal. */
  order: (path: string, init: RequestInit) => Promise<Refusal | null>;
}

/** `answered` is called after each response, because a 401 ends the session. */
export function createCaller(client: Pick<Client, 'request'>, answered: () => void): Caller {
  const send: Caller['send'] = async (path, init) => {
    try {
      const response = await client.request(path, init);
      answered();
      return response;
    } catch {
      return null;
    }
  };
  const call: Caller['call'] = async (path, init) => answerOf(await send(path, init));
  return {
    send,
    call,
    async order(path, init) {
      const answer = await call(path, init);
      return answer.ok ? null : answer.refusal;
    },
  };
}

/** Reads a response to its end. */
export async function answerOf(response: Response | null): Promise<Answer<unknown>> {
  if (!response) return { ok: false, refusal: NO_ANSWER, status: null };
  const { status } = response;
  if (!response.ok) return { ok: false, refusal: await refusalOf(response), status };
  try {
    const text = await response.text();
    return { ok: true, value: text === '' ? null : parseVisible(text) };
  } catch {
    return { ok: false, refusal: UNREADABLE, status };
  }
}

const UNREADABLE: Refusal = { message: t.shell.errors.brokenAnswer, param: null };
