import { visible } from '#shared/visible.ts';
import * as t from '../text/t.ts';
import { type Client, jsonBody, NO_ANSWER, refusalOf } from './client.ts';
import { readEvents } from './sse.ts';

export interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

interface ChatCall {
  /** Null: the gateway chooses. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
}

export interface ChatRoute {
  readonly requestId: string | null;
  readonly upstream: string | null;
  readonly provider: string | null;
  readonly fallbackReason: string;
}

export type ChatEvent =
  | { readonly kind: 'route'; readonly route: ChatRoute }
  | { readonly kind: 'text'; readonly text: string; readonly isReasoning: boolean }
  | { readonly kind: 'model'; readonly model: string }
  | { readonly kind: 'usage'; readonly prompt: number; readonly completion: number };

export type ChatEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly message: string };

export type SendChat = (
  call: ChatCall,
  onEvent: (event: ChatEvent) => void,
  signal: AbortSignal,
) => Promise<ChatEnd>;

const BROKEN: ChatEnd = { kind: 'failed', message: t.chat.brokeOff };

export function createChat({ request }: Pick<Client, 'request'>): SendChat {
  return async ({ model, messages }, onEvent, signal) => {
    const asked = { messages, stream: true, stream_options: { include_usage: true } };
    const init = jsonBody('POST', model === null ? asked : { model, ...asked });
    try {
      const response = await request('/v1/chat/completions', { ...init, signal });
      onEvent({ kind: 'route', route: routeIn(response.headers) });
      if (!response.ok) return { kind: 'failed', message: (await refusalOf(response)).message };
      if (response.body === null) return BROKEN;
      return await readAnswer(response.body, onEvent);
    } catch {
      return signal.aborted ? { kind: 'stopped' } : { kind: 'failed', message: NO_ANSWER.message };
    }
  };
}

function routeIn(headers: Headers): ChatRoute {
  const upstream = headers.get('x-gateway-upstream');
  return {
    requestId: headers.get('x-gateway-request-id'),
    upstream: upstream === 'none' ? null : upstream,
    provider: headers.get('x-gateway-provider'),
    fallbackReason: headers.get('x-gateway-fallback-reason') ?? 'none',
  };
}

async function readAnswer(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onEvent: (event: ChatEvent) => void,
): Promise<ChatEnd> {
  let end: ChatEnd = BROKEN;
  await readEvents(body, (data) => {
    if (data === '[DONE]') {
      if (end === BROKEN) end = { kind: 'done' };
      return;
    }
    const error = readChunk(data, onEvent);
    if (error !== null) end = { kind: 'failed', message: error };
  });
  return end;
}

interface Chunk {
  readonly model?: unknown;
  readonly error?: { readonly message?: unknown } | null;
  readonly usage?: Readonly<Partial<Record<'prompt_tokens' | 'completion_tokens', unknown>>> | null;
  readonly choices?: readonly { readonly delta?: Readonly<Record<string, unknown>> }[];
}

/** Reports the events of a chunk; returns the message of an error in the stream, or null. */
function readChunk(data: string, onEvent: (event: ChatEvent) => void): string | null {
  const { model, error, usage, choices } = JSON.parse(data) as Chunk;
  if (error) return typeof error.message === 'string' ? visible(error.message) : t.chat.brokeOff;
  if (typeof model === 'string' && model !== '') onEvent({ kind: 'model', model: visible(model) });
  const { content, reasoning_content, reasoning } = choices?.[0]?.delta ?? {};
  const thought = typeof reasoning_content === 'string' ? reasoning_content : reasoning;
  if (typeof thought === 'string' && thought !== '')
    onEvent({ kind: 'text', text: thought, isReasoning: true });
  if (typeof content === 'string' && content !== '')
    onEvent({ kind: 'text', text: content, isReasoning: false });
  const { prompt_tokens: prompt, completion_tokens: completion } = usage ?? {};
  if (typeof prompt === 'number' && typeof completion === 'number')
    onEvent({ kind: 'usage', prompt, completion });
  return null;
}
