import { isObject } from '#shared/objects.ts';
import { parseJson } from '../gateway/response/answer.ts';

/** What a demo engine reads of a chat completion. */
interface DemoChat {
  readonly stream: boolean;
  /** The answer to go on from, as vLLM's `continue_final_message` asks for it; empty for a new one. */
  readonly begun: string;
}

/** Reads a request's body. */
export function readChat(text: string): DemoChat {
  const body = parseJson(text);
  if (!isObject(body)) return { stream: false, begun: '' };
  const { stream, continue_final_message: goesOn, messages } = body;
  return { stream: stream === true, begun: goesOn === true ? lastAnswer(messages) : '' };
}

function lastAnswer(messages: unknown): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last) || last['role'] !== 'assistant') return '';
  return typeof last['content'] === 'string' ? last['content'] : '';
}
