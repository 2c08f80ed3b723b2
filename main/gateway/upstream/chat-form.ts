import { randomUUID } from 'node:crypto';
import { isObject } from '#shared/objects.ts';
import { parseJson } from '../../platform/json.ts';
import type { ItemMemory } from '../translation/item-memory.ts';
import type { ProtocolTranslation } from '../translation/translation.ts';
import { type AnswerTranslator, createAnswerTranslator } from './answer-translation.ts';
import { type ChatRequest, isBadRequest, parseChatRequest } from './chat-request.ts';

/** A request to another endpoint as a chat completion. */
export type ChatForm =
  | {
      readonly kind: 'chat';
      readonly request: ChatRequest;
      /** `model` is named where the upstream names none. */
      readonly translator: (model: string) => AnswerTranslator;
    }
  | Untranslatable;

/** `unsupported`: an upstream that speaks the protocol could serve it; `bad_request`: nobody could. */
export interface Untranslatable {
  readonly kind: 'bad_request' | 'unsupported';
  readonly message: string;
  readonly param: string | null;
}

interface ExchangeFacts {
  readonly items: ItemMemory;
  readonly nowMs: number;
}

/** Makes the form when it is first asked for; null where chat completions cannot stand in. */
export function chatFormOf(request: ChatRequest, facts: ExchangeFacts): (() => ChatForm) | null {
  const { translation } = request.endpoint;
  if (translation === undefined) return null;
  let made: ChatForm | null = null;
  return () => (made ??= translated(request, translation, facts));
}

/** The body was checked before, so that it is valid JSON. */
export const TOO_HEAVY: Untranslatable = {
  kind: 'unsupported',
  message: 'The body has too many values to be translated to a chat completion; shorten it.',
  param: null,
};

function translated(
  { bytes }: ChatRequest,
  translation: ProtocolTranslation,
  { items, nowMs }: ExchangeFacts,
): ChatForm {
  const body = parseJson(bytes.toString('utf8'));
  if (body === undefined) return TOO_HEAVY;
  const asked = translation.toChat(body, items);
  if (asked.kind === 'unsupported') return { ...asked, param: asked.field };
  if (asked.kind === 'bad_request') return asked;
  const request = parseChatRequest(Buffer.from(JSON.stringify(asked.body)));
  if (isBadRequest(request)) return { kind: 'bad_request', ...request };
  const exchange = {
    request: withoutPrompt(body),
    // Who knows an item's id may refer to it, so that ids must not be guessed.
    id: randomUUID(),
    createdAt: Math.floor(nowMs / 1000),
    items,
  };
  return {
    kind: 'chat',
    request,
    translator: (model) => createAnswerTranslator(translation, { ...exchange, model }),
  };
}

/** Answers repeat settings only; the prompt would be kept in memory until the last event. */
function withoutPrompt(body: unknown): unknown {
  return isObject(body) ? { ...body, input: undefined, messages: undefined } : body;
}
