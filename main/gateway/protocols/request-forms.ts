import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { BodyShare } from '../../platform/http/bodies.ts';
import { isObject, parseExactJson } from '../../platform/json.ts';
import { type ChatRequest, isBadRequest, parseChatRequest } from './chat-request.ts';
import { type JsonBody, MAX_BYTES_AT_ONCE, memberAt } from './json-edit.ts';
import type { ItemMemory } from './responses/history.ts';
import { createAnswerTranslator } from './translation/answer-translator.ts';
import type { ProtocolTranslation, Untranslatable } from './translation/translation.ts';

/* A request as each kind of upstream takes it; the forms that differ from it are made when they are first asked for. */

export interface RequestForms {
  /** For upstreams that speak only chat completions; null if those cannot stand in. */
  readonly chatForm: ChatFormSource | null;
  /** For upstreams that speak its protocol, without what translation put into earlier answers. */
  readonly native: NativeForm;
  /** The system prompt has a hash that most upstreams get as a constant. */
  readonly isHashFixed: boolean;
}

interface ExchangeFacts {
  readonly items: ItemMemory;
  readonly nowMs: number;
}

/** Changes the request's bytes in place; `no_room`: for the chat form, which is one more copy kept as long as the body itself. */
export async function formsOf(
  request: ChatRequest,
  facts: ExchangeFacts,
  share: Pick<BodyShare, 'takeCopy'>,
): Promise<RequestForms | 'no_room'> {
  const hash = fixHash(request);
  const native = nativeForm(request, facts.items, hash);
  const isHashFixed = hash !== null;
  const { endpoint, bytes } = request;
  if (endpoint.translation === undefined) return { native, isHashFixed, chatForm: null };
  const steps = stepsToChat(request, endpoint.translation, facts);
  if (bytes.length <= MAX_BYTES_AT_ONCE) return { native, isHashFixed, chatForm: lazily(steps) };
  if (!share.takeCopy(bytes.length)) return 'no_room';
  const form = await inTurns(steps);
  return { native, isHashFixed, chatForm: () => form };
}

/** A request to another endpoint as a chat completion. */
export type ChatFormSource = () => ChatRequest | Untranslatable;

type Steps = Generator<undefined, ReturnType<ChatFormSource>>;

function lazily(steps: Steps): ChatFormSource {
  let step: ReturnType<Steps['next']> = { done: false, value: undefined };
  return () => {
    while (step.done !== true) step = steps.next();
    return step.value;
  };
}

/** For a large body, of which all steps in one go would block the event loop. */
async function inTurns(steps: Steps): Promise<ReturnType<ChatFormSource>> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

function* stepsToChat(
  { bytes }: ChatRequest,
  translation: ProtocolTranslation,
  { items, nowMs }: ExchangeFacts,
): Steps {
  const body = parseExactJson(bytes.toString('utf8'));
  if (body === undefined) return TOO_HEAVY;
  yield;
  const asked = translation.toChat(body, items);
  if (asked.kind !== 'chat') return asked;
  yield;
  const written = Buffer.from(JSON.stringify(asked.body));
  yield;
  const form = parseChatRequest(written);
  if (isBadRequest(form)) return { kind: 'bad_request', ...form };
  const { dropped, functions } = asked;
  const exchange = {
    request: withoutPrompt(body),
    // Any caller that knows an item's id can refer to it, so ids must not be guessable.
    id: randomUUID(),
    createdAt: Math.floor(nowMs / 1000),
    functions,
    items,
  };
  const translator = (model: string) =>
    createAnswerTranslator(translation, { ...exchange, model }, dropped);
  return { ...form, translator };
}

/** The body was checked before, so that it is valid JSON. */
export const TOO_HEAVY: Untranslatable = {
  kind: 'unsupported',
  message: 'The body has too many values to be translated to a chat completion; shorten it.',
  param: null,
};

/** Answers repeat settings only; the prompt would be kept in memory until the last event. */
function withoutPrompt(body: unknown): unknown {
  return isObject(body) ? { ...body, input: undefined, messages: undefined } : body;
}

/** `anthropic`: Anthropic's own, which gets the hash. */
type FormKind = 'local' | 'remote' | 'anthropic';

type NativeForm = (kind: FormKind) => ChatRequest;

/** Makes each when it is first asked for. */
function nativeForm(request: ChatRequest, items: ItemMemory, hash: PromptHash | null): NativeForm {
  const { withoutOwn } = request.endpoint;
  if (withoutOwn === undefined && hash === null) return () => request;
  const made: Partial<Record<FormKind, ChatRequest>> = {};
  function formOf(kind: FormKind): ChatRequest {
    const isWhole = kind === 'anthropic' && hash !== null;
    const bytes = isWhole ? withHash(request.bytes, hash) : request.bytes;
    const own = { ...request, bytes };
    return { ...own, ...withoutOwn?.(own, { items, isLocal: kind === 'local' }) };
  }
  return (kind) => (made[kind] ??= formOf(kind));
}

/**
 * A hash in the system prompt that differs in every request and says nothing to a model: an engine's cache ends where it
 * stands. A constant of the same length replaces it for every upstream but Anthropic, which alone reads it.
 */
interface PromptHash {
  readonly start: number;
  readonly value: string;
}

/**
 * Claude Code's from 2.1.36 on, in the first block of its system prompt (anthropics/claude-code#24168, #68900); it costs
 * 50 s a turn in place of 4 (waybarrios/vllm-mlx#277).
 */
const CCH = /"x-anthropic-billing-header:[^"\\]{0,400}?\bcch=([^;,\s"\\]+)/d;

const CONSTANT = '0';
/** A block begins with such a line; what precedes it are names and brackets. */
const SEARCHED_BYTES = 1024;
const SYSTEM_ROLE = /"role"\s*:\s*"system"/;

/**
 * Replaces the hash in the first system block, or in the first message if that is the system's, in place: the body is the
 * gateway's own, and a copy of it may take megabytes. Null if there is none.
 */
export function fixHash(body: JsonBody): PromptHash | null {
  const { bytes } = body;
  const system = memberAt(body, 'system');
  const holder = system ?? memberAt(body, 'messages');
  if (holder === undefined) return null;
  const { start, ends, end } = holder;
  const length = Math.min((ends[0] ?? end) - start, SEARCHED_BYTES);
  const text = bytes.toString('latin1', start, start + length);
  const [from, to] = CCH.exec(text)?.indices?.[1] ?? [];
  if (from === undefined || !(system !== undefined || SYSTEM_ROLE.test(text))) return null;
  const value = text.slice(from, to);
  bytes.fill(CONSTANT, start + from, start + from + value.length, 'latin1');
  return { start: start + from, value };
}

/** A copy of the body as it came. */
export function withHash(bytes: Buffer, { start, value }: PromptHash): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(value, start, 'latin1');
  return copy;
}
