import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { ModelNeeds } from '#shared/models.ts';
import { messageOf } from '../../platform/errors.ts';
import type { BodyShare } from '../../platform/http/bodies.ts';
import { isObject, parseExactJson } from '../../platform/json.ts';
import { CHAT_COMPLETIONS } from './chat/endpoint.ts';
import { type AnswerRequirements, type ApiEndpoint, ONE_WHOLE } from './endpoint.ts';
import {
  hasMember,
  type JsonBody,
  MAX_BYTES_AT_ONCE,
  type Member,
  memberAt,
  membersInTurns,
  membersOf,
  smallValuesOf,
  type Span,
  withMembers,
} from './json-edit.ts';
import type { ItemMemory } from './responses/item-memory.ts';
import { type AnswerTranslator, createAnswerTranslator } from './translation/answer-translator.ts';
import type { ProtocolTranslation, Untranslatable } from './translation/translation.ts';

/* A caller's request: read from its bytes, and in the forms in which upstreams take it. */

interface Models {
  /** As the caller named it, which may be an alias. */
  readonly requestedModel: string | null;
  /** What the alias stands for, if it is one; the body asks for this. */
  readonly model: string | null;
}

/** A request as the caller sent it, with the fields that routing reads. */
export interface ChatRequest extends AnswerRequirements, JsonBody, Models {
  readonly endpoint: ApiEndpoint;
  readonly contentType: string;
  readonly stream: boolean;
  /** The caller asked for a usage chunk (`stream_options.include_usage`). */
  readonly includeUsage: boolean;
  /** What its model should be able to do, as far as a look at its bytes tells. */
  readonly needs: () => ModelNeeds;
  /** Of its answer, if this is the chat form of another request; `model` is named where the upstream names none. */
  readonly translator: ((model: string) => AnswerTranslator) | null;
}

export interface BadRequest {
  readonly message: string;
  readonly param: string | null;
}

/** The model that a name is an alias of (`MODEL_ALIASES`); null if it is none. */
type AliasReader = (name: string) => string | null;

const NO_ALIASES: AliasReader = () => null;

/** Reads a body of the gateway's own making. */
export function parseChatRequest(
  bytes: Buffer,
  endpoint = CHAT_COMPLETIONS,
): ChatRequest | BadRequest {
  return requestOf(endpoint, bytes, membersOf(bytes), NO_ALIASES);
}

/**
 * Reads a caller's body, in several turns if it is so large that one would block the event loop; then what stands within
 * its members is the upstream's to judge, as are fields that neither routing nor the endpoint checks.
 */
export async function readRequest(
  body: Buffer,
  { endpoint, contentType }: Pick<ChatRequest, 'endpoint' | 'contentType'>,
  readAlias = NO_ALIASES,
): Promise<ChatRequest | BadRequest> {
  if (endpoint.body === 'multipart') return formRequest(body, endpoint, contentType, readAlias);
  const bytes = withoutMark(body);
  if (!isUtf8(bytes)) return NO_UTF8;
  const isLarge = bytes.length > MAX_BYTES_AT_ONCE;
  const problem = isLarge ? null : problemIn(bytes);
  if (problem !== null) return problem;
  return requestOf(
    endpoint,
    bytes,
    isLarge ? await membersInTurns(bytes) : membersOf(bytes),
    readAlias,
  );
}

/** The byte order mark that Windows PowerShell and editors put in front of a file (RFC 8259, 8.1 lets a reader skip it). */
const MARK = Buffer.from('\uFEFF');

const withoutMark = (body: Buffer): Buffer =>
  body.subarray(0, MARK.length).equals(MARK) ? body.subarray(MARK.length) : body;

/** How a picture is written in chat completions, messages and responses; in a text its quotes are escaped. */
const PICTURES = ['"image_url"', '"image"', '"input_image"'];

function requestOf(
  endpoint: ApiEndpoint,
  bytes: Buffer,
  members: readonly Member[] | null,
  readAlias: AliasReader,
): ChatRequest | BadRequest {
  if (members === null) return NO_OBJECT;
  const given = { bytes, members };
  const fields = smallValuesOf(given, ['model', 'stream', 'stream_options']);
  const problem = missingIn(given, endpoint.required) ?? problemOf(fields) ?? checkUnique(members);
  if (problem !== null) return problem;
  const [name, stream, options] = fields;
  const models = modelsOf(typeof name === 'string' ? name : null, readAlias);
  const { model } = models;
  const isAlias = model !== models.requestedModel;
  const body = isAlias ? withMembers(given, { model: JSON.stringify(model) }) : given;
  const asked = endpoint.asks(body);
  const hasStreams = endpoint.answer.stream !== null;
  let needs: ModelNeeds | null = null;
  return {
    endpoint,
    contentType: 'application/json',
    ...body,
    ...models,
    stream: hasStreams && stream === true,
    includeUsage: isObject(options) && options['include_usage'] === true,
    ...asked,
    isAssemblable: () => hasStreams && asked.isAssemblable(),
    needs: () =>
      (needs ??= {
        vision: PICTURES.some((each) => body.bytes.includes(each)),
        tools: (memberAt(body, 'tools')?.last ?? null) !== null,
      }),
    translator: null,
  };
}

export function isBadRequest(parsed: ChatRequest | BadRequest): parsed is BadRequest {
  return 'message' in parsed;
}

function bad(message: string, param: string | null): BadRequest {
  return { message, param };
}

const NO_UTF8 = bad(
  'The body is not valid UTF-8. Windows PowerShell sends UTF-8 with -ContentType "application/json; charset=utf-8".',
  null,
);

const NO_OBJECT = bad('The body must be a JSON object, of at most 10,000 fields.', null);

/** What is left of the quotes of a command line where cmd.exe or PowerShell has taken it apart. */
const SHELL_QUOTES = /^('|\{\\|\{\s*[a-z])/i;

/** Null for valid JSON. V8 quotes the body where it does not name the position, so only that is passed on. */
function problemIn(bytes: Buffer): BadRequest | null {
  if (bytes.length === 0) return bad('The body is empty; send the request in it, as JSON.', null);
  const text = bytes.toString('utf8');
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const [, position = null] = / at position (\d+)/.exec(messageOf(error)) ?? [];
    const place = position === null ? '' : `: see position ${position}`;
    const hint = SHELL_QUOTES.test(text)
      ? ' Its quotes look changed by a shell: write the JSON to a file, and send that (curl: -d @body.json).'
      : '';
    return bad(`The body is not valid JSON${place}.${hint}`, null);
  }
}

/** What members are called that a body may have to have. */
const REQUIRED = {
  list: 'a non-empty array',
  text: 'a non-empty string',
  'text or list': 'a string or a non-empty array',
};

/** The first member that is missing, or is not of its kind. */
function missingIn(body: JsonBody, required: ApiEndpoint['required']): BadRequest | null {
  const missing = Object.entries(required).find(([key, kind]) => !hasMember(body, key, kind));
  if (missing === undefined) return null;
  const [key, kind] = missing;
  return bad(`'${key}' must be ${REQUIRED[kind]}.${placeFor(key, body)}`, key);
}

/** Cursor, for one, sends bodies of responses to chat completions (Helicone/helicone#5629). */
const PLACE_OF: Readonly<Record<string, string>> = {
  messages: '/v1/chat/completions',
  input: '/v1/responses',
  prompt: '/v1/completions',
};

function placeFor(wanted: string, body: JsonBody): string {
  const other = body.members.find(({ key }) => Object.hasOwn(PLACE_OF, key));
  const isElsewhere = Object.hasOwn(PLACE_OF, wanted) && memberAt(body, wanted) === undefined;
  return isElsewhere && other !== undefined
    ? ` A body with '${other.key}' belongs at ${PLACE_OF[other.key]}.`
    : '';
}

function problemOf([model, stream, options]: readonly unknown[]): BadRequest | null {
  if ((model ?? null) !== null && (typeof model !== 'string' || model === ''))
    return bad("'model' must be a non-empty string, or left out.", 'model');
  if (typeof (stream ?? false) !== 'boolean')
    return bad("'stream' must be true or false.", 'stream');
  return isObject(options ?? {})
    ? null
    : bad("'stream_options' must be an object.", 'stream_options');
}

/** Parsers differ in which of two equal keys they use, so the upstream might read another request. */
function checkUnique(members: readonly Member[]): BadRequest | null {
  const seen = new Set(members.map(({ key }) => key));
  const twice = members.find(({ key }) => !seen.delete(key));
  return twice === undefined
    ? null
    : bad(`'${twice.key}' appears more than once; send it once.`, twice.key);
}

/** A form is passed on as it is; its answer, even one of events, is passed back as bytes. */
export function formRequest(
  bytes: Buffer,
  endpoint: ApiEndpoint,
  contentType: string,
  readAlias = NO_ALIASES,
): ChatRequest {
  const { start = 0, end = 0 } = modelIn(bytes) ?? {};
  const models = modelsOf(bytes.toString('utf8', start, end) || null, readAlias);
  const { model } = models;
  const isAlias = model !== null && model !== models.requestedModel;
  return {
    endpoint,
    contentType,
    bytes: isAlias
      ? Buffer.concat([bytes.subarray(0, start), Buffer.from(model), bytes.subarray(end)])
      : bytes,
    members: [],
    ...models,
    stream: false,
    includeUsage: false,
    ...ONE_WHOLE,
    needs: () => ({ vision: false, tools: false }),
    translator: null,
  };
}

const modelsOf = (name: string | null, readAlias: AliasReader): Models => ({
  requestedModel: name,
  model: (name === null ? null : readAlias(name)) ?? name,
});

/** Fields stand before or behind the file; the file itself, which may be large, is not searched. */
const SEARCHED_BYTES = 64 * 1024;
const MAX_VALUE_BYTES = 200;
/** The headers of one part after its disposition; without a limit, the search would pass over the rest from each part. */
const MAX_PART_HEADERS = 8;

const MODEL_FIELD = new RegExp(
  `\\r\\ncontent-disposition: *form-data; *name="?model"?[ \\t]*\\r\\n(?:[^\\r\\n]+\\r\\n){0,${MAX_PART_HEADERS}}\\r\\n([^\\r\\n]{1,${MAX_VALUE_BYTES}})\\r\\n--`,
  'di',
);

/** Where a form (RFC 7578) names its model; null if it does not near either end. */
const modelIn = (bytes: Buffer): Span | null =>
  modelFrom(bytes, 0) ?? modelFrom(bytes, Math.max(0, bytes.length - SEARCHED_BYTES));

function modelFrom(bytes: Buffer, from: number): Span | null {
  // One character for each byte, so that positions are those of the bytes.
  const found = MODEL_FIELD.exec(bytes.toString('latin1', from, from + SEARCHED_BYTES));
  const [start, end] = found?.indices?.[1] ?? [];
  return start === undefined || end === undefined ? null : { start: from + start, end: from + end };
}

/** A request as each kind of upstream takes it; the forms that differ from it are made when they are first asked for. */
export interface RequestForms {
  /** For upstreams that speak only chat completions; null if those cannot stand in. */
  readonly chatForm: ChatFormSource | null;
  /** For upstreams that speak its protocol, without what translation put into earlier answers. */
  readonly native: NativeForm;
  /** The system prompt has a hash that most upstreams get as a constant. */
  readonly isHashFixed: boolean;
}

interface ExchangeFacts {
  /** Null for an API that has none. */
  readonly items: ItemMemory | null;
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
function nativeForm(
  request: ChatRequest,
  items: ItemMemory | null,
  hash: PromptHash | null,
): NativeForm {
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
const SYSTEM_BYTES = 1024;
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
  const length = Math.min((ends[0] ?? end) - start, SYSTEM_BYTES);
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
