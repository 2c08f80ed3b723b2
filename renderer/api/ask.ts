import { visible } from '#shared/visible.ts';
import { type Client, jsonBody, NO_ANSWER, refusalOf } from './client.ts';
import { readEvents } from './sse.ts';

interface AskListener {
  readonly onHeaders: (headers: Headers) => void;
  readonly onText: (text: string) => void;
}

/** Asks as an app does; null asks for any model. Resolves with null once the answer is complete or was stopped, otherwise with an error message. */
export type Ask = (
  asked: { readonly prompt: string; readonly model: string | null },
  listener: AskListener,
  signal: AbortSignal,
) => Promise<string | null>;

const CUT_OFF = 'The answer was cut off.';

export function createAsk({ request }: Pick<Client, 'request'>): Ask {
  return async ({ prompt, model }, { onHeaders, onText }, signal) => {
    const messages = [{ role: 'user', content: prompt }];
    const body = { ...(model !== null && { model }), messages, stream: true };
    try {
      const response = await request('/v1/chat/completions', { ...jsonBody('POST', body), signal });
      onHeaders(response.headers);
      if (!response.ok) return (await refusalOf(response)).message;
      let problem: string | null = CUT_OFF;
      if (response.body === null) return problem;
      await readEvents(response.body, (data) => {
        if (data === '[DONE]') {
          if (problem === CUT_OFF) problem = null;
          return;
        }
        const { error, choices } = JSON.parse(data) as Chunk;
        if (error) problem = typeof error.message === 'string' ? visible(error.message) : CUT_OFF;
        onText(choices?.[0]?.delta?.content ?? '');
      });
      return problem;
    } catch {
      return signal.aborted ? null : NO_ANSWER.message;
    }
  };
}

interface Chunk {
  readonly error?: { readonly message?: unknown } | null;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}
