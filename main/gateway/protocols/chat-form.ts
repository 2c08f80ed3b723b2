import { createHash, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isHeavyJson, isObject, listOf, parseExactJson, parseJson } from '../../platform/json.ts';
import { answerAsChunk } from './assembly.ts';
import { repairedAnswer } from './chat/repair.ts';
import { type ChatRequest, isBadRequest, parseChatRequest, parseInTurns } from './chat-request.ts';
import type { BegunBlocks } from './messages/events.ts';
import type { ItemMemory } from './responses/history.ts';
import { createFramer, dataOf, eventsOf } from './sse.ts';
import type { ChatBody } from './translation/conversation.ts';
import {
  type AnswerTranslator,
  badResponse,
  type DroppedFields,
  type ProtocolTranslation,
  type StreamTranslator,
  type TranslatedExchange,
  type TranslatedStream,
  type TranslatedWhole,
  type Untranslatable,
} from './translation/translation.ts';

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
): Promise<ReturnType<typeof chatFormOf>> {
  const { translation } = request.endpoint;
  if (translation === undefined) return null;
  const body = parsedOf(request);
  await setImmediate();
  const asked = translated(body, translation, facts);
  if ('kind' in asked) return () => asked;
  await setImmediate();
  const bytes = written(asked);
  await setImmediate();
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
  if (asked.kind !== 'chat') return asked;
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

/** Of a function, at OpenAI and Azure; an MCP tool may have dots, slashes and letters of any script, or a longer name. */
const NAME = /^[\w-]{1,64}$/;

/** The names that callers know, by those that upstreams are told. */
type LongNames = ReadonlyMap<string, string>;

/** 64 characters at most, and the same for the same name, whether it is offered or was called before. */
function shortName(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 55)}_${hash}`;
}

/** A tool, a choice or a call with another name; the same object if it keeps its own. */
function renamed(holder: unknown, nameOf: (name: string) => string | undefined): unknown {
  const inner = isObject(holder) ? holder['function'] : undefined;
  const name = isObject(inner) ? inner['name'] : undefined;
  const other = typeof name === 'string' ? nameOf(name) : undefined;
  if (!isObject(holder) || !isObject(inner) || other === undefined) return holder;
  return { ...holder, function: { ...inner, name: other } };
}

/** A request whose names upstreams take. */
function withShortNames(body: ChatBody): {
  readonly body: ChatBody;
  readonly longNames: LongNames;
} {
  const longNames = new Map<string, string>();
  const short = (holder: unknown) =>
    renamed(holder, (name) => {
      if (NAME.test(name)) return undefined;
      longNames.set(shortName(name), name);
      return shortName(name);
    });
  const { tools, tool_choice: choice } = body;
  const shorter = {
    ...body,
    messages: body.messages.map((message) =>
      'tool_calls' in message && message.tool_calls !== undefined
        ? { ...message, tool_calls: message.tool_calls.map((call) => short(call) as object) }
        : message,
    ),
    ...(tools !== undefined && { tools: listOf(tools).map(short) }),
    ...(choice !== undefined && { tool_choice: short(choice) }),
  };
  return { body: longNames.size === 0 ? body : shorter, longNames };
}

/** A chunk, or a whole answer, whose calls have the names that its caller knows. */
function withLongNames(answer: unknown, longNames: LongNames): unknown {
  if (longNames.size === 0 || !isObject(answer)) return answer;
  const inLong = (said: unknown): unknown => {
    if (!isObject(said) || !Array.isArray(said['tool_calls'])) return said;
    const calls = said['tool_calls'].map((call) => renamed(call, (name) => longNames.get(name)));
    return { ...said, tool_calls: calls };
  };
  const choices = listOf(answer['choices']).map((choice) => {
    if (!isObject(choice)) return choice;
    const { delta, message } = choice;
    return { ...choice, delta: inLong(delta), message: inLong(message) };
  });
  return { ...answer, choices };
}

/** About 200,000 events of one token each; the last event repeats the whole answer. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;

const TOO_MANY_VALUES = 'an answer of too many values';
const TOO_LONG = `The upstream sent over ${MAX_STREAM_BYTES} bytes.`;
const COLON = 0x3a;

function createAnswerTranslator(
  translation: ProtocolTranslation,
  exchange: TranslatedExchange,
  { dropped, longNames }: Pick<ChatForm, 'dropped' | 'longNames'>,
): AnswerTranslator {
  const createStream = (begun?: BegunBlocks) =>
    streamTranslator(translation.createStream(exchange, begun), longNames);
  return {
    createStream,
    dropped,
    whole(completion, asStream) {
      const parsed = parseJson(completion.toString('utf8'));
      // Its syntax was checked as it arrived, so it is too heavy to be parsed.
      if (parsed === undefined) return { kind: 'bad', detail: TOO_MANY_VALUES };
      if (asStream) return asEvents(completion, createStream());
      const right = isObject(parsed) ? repairedAnswer(parsed) : parsed;
      const answer = translation.answer(withLongNames(right, longNames), exchange);
      return answer.kind === 'answer'
        ? { kind: 'answer', body: Buffer.from(JSON.stringify(answer.body)) }
        : UNTRANSLATABLE;
    },
  };
}

const UNTRANSLATABLE: TranslatedWhole = {
  kind: 'bad',
  detail: 'an answer that cannot be translated',
};

/** For an engine that answers with JSON although a stream was asked for. */
function asEvents(completion: Buffer, stream: StreamTranslator): TranslatedWhole {
  const frames = createFramer().push(Buffer.from(answerAsChunk(completion, true)));
  const body = Buffer.concat([...(frames === null ? [] : [stream.push(frames)]), stream.end()]);
  return stream.ended() === 'complete' ? { kind: 'answer', body } : UNTRANSLATABLE;
}

function streamTranslator(stream: TranslatedStream, longNames: LongNames): StreamTranslator {
  let bytes = 0;

  function textOf(event: Buffer): string {
    const data = dataOf(event)?.trim() ?? '';
    // A comment keeps the caller's connection alive as it did ours.
    if (data === '') return event[0] === COLON ? event.toString('utf8') : '';
    if (data === '[DONE]') return '';
    const chunk = parseJson(data);
    if (chunk !== undefined) return stream.push(withLongNames(chunk, longNames));
    if (!isHeavyJson(data)) return '';
    return stream.fail(badResponse(`The upstream sent ${TOO_MANY_VALUES}.`));
  }

  return {
    push(frames) {
      bytes += frames.bytes.length;
      if (bytes > MAX_STREAM_BYTES) return Buffer.from(stream.fail(badResponse(TOO_LONG)));
      return Buffer.from(eventsOf(frames).map(textOf).join(''));
    },
    end: () => Buffer.from(stream.end()),
    fail: (error) => Buffer.from(stream.fail(error)),
    ended: () => stream.ended(),
  };
}
