import { listOf, memberOf } from '../../../platform/json.ts';
import type { Finish } from '../chat/finish.ts';
import type { Stop, Usage } from '../translation/chat-answer.ts';
import type { TranslatedExchange } from '../translation/translation.ts';

export interface Ending {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly container: null;
}

export interface Said {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
  readonly stop: Stop | null;
}

/** @param request the caller's: an engine also stops at sequences of its own, which are the end of a turn */
export function endingOf(finish: Finish, said: Said, request: unknown): Ending {
  const stop = askedStop(said.stop, listOf(memberOf(request, 'stop_sequences')));
  const stop_reason = stopReason(finish, { ...said, stop });
  return {
    stop_reason,
    stop_sequence: stop_reason === 'stop_sequence' && stop?.kind === 'named' ? stop.sequence : null,
    stop_details: null,
    container: null,
  };
}

function askedStop(stop: Stop | null, asked: readonly unknown[]): Stop | null {
  if (stop?.kind === 'named') return asked.includes(stop.sequence) ? stop : null;
  const [only] = asked;
  if (stop === null || only === undefined) return null;
  const isOnly = asked.length === 1 && typeof only === 'string';
  return isOnly ? { kind: 'named', sequence: only } : stop;
}

function stopReason(finish: Finish, { hasCalls, hasRefusal, stop }: Said): string {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || hasRefusal) return 'refusal';
  // Some engines end an answer with calls like any other answer.
  if (hasCalls) return 'tool_use';
  return stop === null ? 'end_turn' : 'stop_sequence';
}

/** The counts of a whole answer; the protocol requires numbers, so unknown ones are 0. */
export function usageObject(usage: Usage | null): object {
  const thinking_tokens = usage?.reasoning ?? null;
  return {
    // Anthropic counts cached tokens separately.
    input_tokens: Math.max(0, (usage?.input ?? 0) - (usage?.cached ?? 0)),
    output_tokens: usage?.output ?? 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage?.cached ?? 0,
    output_tokens_details: thinking_tokens === null ? null : { thinking_tokens },
    server_tool_use: null,
  };
}

export interface MessageState {
  readonly model: string;
  readonly content: readonly Block[];
  readonly ending: Ending | null;
  readonly usage: Usage | null;
}

/** The object of a whole answer, with which a stream begins, too. */
export function messageObject(
  { id }: TranslatedExchange,
  { model, content, ending, usage }: MessageState,
): object {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...(ending ?? { stop_reason: null, stop_sequence: null, stop_details: null, container: null }),
    diagnostics: null,
    usage: {
      ...usageObject(usage),
      cache_creation: null,
      inference_geo: null,
      service_tier: 'standard',
      speed: null,
    },
  };
}

/** Clients send a thinking block back only if it has a signature. Nothing here checks it. */
export const SIGNATURE = 'unsigned';

/** A block of an answer. */
export type Block =
  | { readonly type: 'text'; readonly text: string; readonly citations: null }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: object;
      readonly caller: { readonly type: 'direct' };
    };

export const textBlock = (text: string): Block => ({ type: 'text', text, citations: null });

export const thinkingBlock = (thinking: string, signature: string): Block => ({
  type: 'thinking',
  thinking,
  signature,
});

export function toolUseBlock(id: string, name: string, input: object): Block {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } };
}
