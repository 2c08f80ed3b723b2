import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isObject, parseExactJson } from '../../platform/json.ts';
import type { ItemMemory } from './responses/history.ts';
import type { ChatBody } from './translation/conversation.ts';
import type {
  DroppedFields,
  ProtocolTranslation,
  TranslatedExchange,
} from './translation/translation.ts';
import { type LongNames, withShortNames } from './translation/short-names.ts';
import { createAnswerTranslator } from './answer-translation.ts';
import { type ChatRequest, isBadRequest, parseChatRequest, parseInTurns } from './chat-request.ts';

/** Why a request has no chat form. `unsupported`: an upstream that speaks the protocol could serve it; `bad_request`: nobody could. */
export interface Untranslatable {
  readonly kind: 'bad_request' | 'unsupported';
  readonly message: string;
  readonly param: string | null;
}

export interface ExchangeFacts {
  readonly items: ItemMemory;
  readonly nowMs: number;
}

/**
 * A request to another endpoint as a chat completion, made when it is first asked for; null if chat completions
 * cannot stand in.
 */
export function chatFormOf(
  request: ChatRequest,
  facts: ExchangeFacts,
): (() => ChatRequest | Untranslatable) | null {
  const { translation } = request.endpoint;
  if (translation === undefined) return null;
  let made: ChatRequest | Untranslatable | null = null;
  return () => {
    if (made !== null) return made;
    const asked = translated(parsedOf(request), translation, facts);
    made = 'kind' in asked ? asked : formOf(asked, parseChatRequest(written(asked)));
    return made;
  };
}

/** As `chatFormOf`, for a body so large that doing it in one go would block the event loop. */
export async function chatFormInTurns(
  request: ChatRequest,
  facts: ExchangeFacts,
  nextTurn: () => Promise<unknown> = () => setImmediate(),
): Promise<ReturnType<typeof chatFormOf>> {
  const { translation } = request.endpoint;
  if (translation === undefined) return null;
  const body = parsedOf(request);
  await nextTurn();
  const asked = translated(body, translation, facts);
  if ('kind' in asked) return () => asked;
  await nextTurn();
  const bytes = written(asked);
  await nextTurn();
  const form = formOf(asked, await parseInTurns(bytes));
  return () => form;
}

const parsedOf = ({ bytes }: ChatRequest) => parseExactJson(bytes.toString('utf8'));

/** The body was checked before, so that it is valid JSON. */
export const TOO_HEAVY: Untranslatable = {
  kind: 'unsupported',
  message: 'The body has too many values to be translated to a chat completion; shorten it.',
  param: null,
};

interface ChatForm {
  readonly body: ChatBody;
  readonly dropped: DroppedFields;
  readonly longNames: LongNames;
  readonly translation: ProtocolTranslation;
  readonly exchange: Omit<TranslatedExchange, 'model'>;
}

const written = ({ body }: ChatForm) => Buffer.from(JSON.stringify(body));

function translated(
  body: unknown,
  translation: ProtocolTranslation,
  { items, nowMs }: ExchangeFacts,
): ChatForm | Untranslatable {
  if (body === undefined) return TOO_HEAVY;
  const asked = translation.toChat(body, items);
  if (asked.kind === 'unsupported') return { ...asked, param: asked.field };
  if (asked.kind === 'bad_request') return asked;
  const exchange = {
    request: withoutPrompt(body),
    // Any caller that knows an item's id can refer to it, so ids must not be guessable.
    id: randomUUID(),
    createdAt: Math.floor(nowMs / 1000),
    items,
  };
  return { ...withShortNames(asked.body), dropped: asked.dropped, translation, exchange };
}

function formOf(
  { translation, exchange, ...lost }: ChatForm,
  request: ReturnType<typeof parseChatRequest>,
): ChatRequest | Untranslatable {
  if (isBadRequest(request)) return { kind: 'bad_request', ...request };
  const translator = (model: string) =>
    createAnswerTranslator(translation, { ...exchange, model }, lost);
  return { ...request, translator };
}

/** Answers repeat settings only; the prompt would be kept in memory until the last event. */
function withoutPrompt(body: unknown): unknown {
  return isObject(body) ? { ...body, input: undefined, messages: undefined } : body;
}
