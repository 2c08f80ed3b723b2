import { parseVisible } from '#shared/visible.ts';
import { NO_ANSWER, refusalOf, type Client, type Refusal } from './client.ts';
import { t } from '../text/t.ts';

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
