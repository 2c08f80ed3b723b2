import { parseVisible } from '#shared/visible.ts';

const TOKEN_KEY = 'inglenook.session';
const BROWSER_KEY = 'inglenook.browser';
const API_KEY = 'inglenook.key';

interface ClientEdges {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  /** Storage that is cleared when the tab is closed. */
  readonly storage: Store;
  /** Storage that lasts, for a browser that the gateway remembers. */
  readonly standing?: Store;
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export type Client = ReturnType<typeof createClient>;

/** Calls the gateway, with the token of the control session if there is one. Tokens are kept only in the given storages. */
export function createClient({ fetch, storage, standing = storage }: ClientEdges) {
  const send = (path: string, init: RequestInit, token: string | null): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (token) headers.set('Authorization', `Bearer ${token}`);
    return fetch(path, { ...init, headers, cache: 'no-store' });
  };

  const control = [
    { store: storage, name: TOKEN_KEY },
    { store: standing, name: TOKEN_KEY },
    { store: standing, name: BROWSER_KEY },
  ];

  /** The token in a gateway's answer, stored; resolves with an error message, or null. */
  async function stored(answering: Promise<Response>, store: Store, name: string) {
    try {
      const response = await answering;
      if (!response.ok) return (await refusalOf(response)).message;
      const { token, keep } = (await response.json()) as {
        readonly token?: unknown;
        /** `browser`: for all tabs of this browser, also later ones. */
        readonly keep?: unknown;
      };
      if (typeof token !== 'string') return 'The gateway did not return a session.';
      (keep === 'browser' ? standing : store).setItem(name, token);
      return null;
    } catch {
      return NO_ANSWER.message;
    }
  }

  /** Sends the token; if it is refused, drops it and repeats the call without it. */
  async function request(path: string, init?: RequestInit): Promise<Response> {
    for (const { store, name } of control) {
      const token = store.getItem(name);
      if (token === null) continue;
      const response = await send(path, init ?? {}, token);
      if (response.status !== 401) return response;
      store.removeItem(name);
      await response.body?.cancel();
    }
    return send(path, init ?? {}, storage.getItem(API_KEY));
  }

  return {
    /** True while the client has the token of a session or of a remembered browser. */
    hasSession: () => control.some(({ store, name }) => store.getItem(name) !== null),
    request,
    /** The token of a session, which this browser's tabs lend each other; null without one. */
    session: () => control.flatMap(({ store, name }) => store.getItem(name) ?? [])[0] ?? null,
    takeSession: (token: string) => storage.setItem(TOKEN_KEY, token),
    /** Exchanges a single-use code for a session; resolves with an error message, or null. */
    redeem: (code: string) =>
      stored(send('/api/v1/sessions', jsonBody('POST', { code }), null), storage, TOKEN_KEY),
    /** Asks the gateway to remember this browser; resolves with an error message, or null. */
    remember: (name: string) =>
      stored(request('/api/v1/browsers', jsonBody('POST', { name })), standing, BROWSER_KEY),
    /** Reads with an API key from now on; resolves with an error message, or null. */
    unlock: async (key: string): Promise<string | null> => {
      try {
        const response = await send('/api/v1/status', {}, key);
        await response.body?.cancel();
        if (response.status === 401) return 'The gateway does not accept this key.';
        storage.setItem(API_KEY, key);
        return null;
      } catch {
        return NO_ANSWER.message;
      }
    },
  };
}

export const jsonBody = (method: 'POST' | 'PUT' | 'PATCH', body: unknown): RequestInit => ({
  method,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

export interface Refusal {
  readonly message: string;
  /** The part of the call at fault, such as a setting's path; null for the call as a whole. */
  readonly param: string | null;
  /** What kind of error it is; absent if the gateway did not say. */
  readonly code?: string;
}

export const NO_ANSWER: Refusal = {
  message: 'The gateway did not answer. Is it still running?',
  param: null,
};

/** The server's error message for a refused call, otherwise its status. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const fallback = `The gateway answered ${response.status}.`;
  try {
    const { error } = parseVisible(await response.text()) as {
      readonly error?: Readonly<Partial<Record<'message' | 'param' | 'code', unknown>>>;
    };
    const { message, param, code } = error ?? {};
    return {
      message: typeof message === 'string' && message !== '' ? message : fallback,
      param: typeof param === 'string' ? param : null,
      ...(typeof code === 'string' ? { code } : {}),
    };
  } catch {
    return { message: fallback, param: null };
  }
}

/** `status` is null if there was no response. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal; readonly status: number | null };

export type Caller = ReturnType<typeof createCaller>;

/** Calls whose failures are values; `answered` is called after each response, because a 401 ends the session. */
export function createCaller(client: Pick<Client, 'request'>, answered: () => void) {
  async function call<T>(path: string, init?: RequestInit): Promise<Answer<T>> {
    const response = await client.request(path, init).catch(() => null);
    if (response !== null) answered();
    return answerOf<T>(response);
  }
  /** What an answer holds under a name. */
  async function part<T>(name: string, path: string, init?: RequestInit): Promise<Answer<T>> {
    const answer = await call<Readonly<Record<string, T>>>(path, init);
    return partOf(answer, (whole) => whole[name] as T);
  }
  /** A call whose only result is success or a refusal. */
  async function act(path: string, init: RequestInit): Promise<Refusal | null> {
    const answer = await call(path, init);
    return answer.ok ? null : answer.refusal;
  }
  return { call, part, act };
}

/** Reads a response to its end; its shape is the gateway's word. */
export async function answerOf<T>(response: Response | null): Promise<Answer<T>> {
  if (!response) return { ok: false, refusal: NO_ANSWER, status: null };
  const { status } = response;
  if (!response.ok) return { ok: false, refusal: await refusalOf(response), status };
  try {
    const text = await response.text();
    return { ok: true, value: (text === '' ? null : parseVisible(text)) as T };
  } catch {
    return { ok: false, refusal: UNREADABLE, status };
  }
}

export function partOf<T, P>(answer: Answer<T>, part: (value: T) => P): Answer<P> {
  return answer.ok ? { ok: true, value: part(answer.value) } : answer;
}

const UNREADABLE: Refusal = { message: 'The gateway’s answer was cut off.', param: null };
