import { createHash } from 'node:crypto';
import { isObject } from '#shared/objects.ts';
import type { Clock } from '../../platform/clock.ts';
import { listOf, memberOf } from '../../platform/json.ts';
import type { UpstreamError } from '../protocols/upstream-error.ts';
import {
  editedList,
  type Member,
  smallValueOf,
  topLevelMembers,
  withMembers,
  withoutMembers,
} from '../protocols/json-members.ts';
import {
  withPlainCallIds,
  withoutThinking,
  withThinkingOff,
} from '../protocols/messages/history.ts';
import { withoutForeignItems } from '../protocols/responses/history.ts';

/**
 * A change of a request for an upstream that refuses it as it is: hosts and engines differ in fields that callers and
 * the gateway send without knowing who will answer.
 */
export type Adjustment =
  | 'without_usage'
  | 'without_stream'
  | 'max_completion_tokens'
  | 'max_tokens'
  | 'without_user'
  | 'without_reasoning'
  | 'filled_reasoning'
  | 'short_call_ids'
  | 'call_signatures'
  | 'plain_call_ids'
  | 'without_thinking'
  | 'thinking_off'
  | 'without_foreign_items';

type Json = Readonly<Record<string, unknown>>;

interface Body {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
}

interface Rule {
  readonly adjustment: Adjustment;
  /** Null: every endpoint. */
  readonly path: string | null;
  /** Whether the refusal asks for it. `text`: the field that it names, and its words. */
  readonly isAskedFor: (text: string, error: UpstreamError) => boolean;
  /** Null if there is nothing to change. */
  readonly change: (body: Body) => Buffer | null;
  /** It is about this conversation rather than about this upstream. */
  readonly isForThisRequest?: true;
}

const CHAT = '/chat/completions';

/** How hosts say that they do not take a field; a value that is too large is another matter. */
const REFUSED =
  /unsupported|not support|unknown|unrecognized|unexpected|extra (inputs?|fields?)|extra_forbidden|not (permitted|allowed|available)|forbidden|invalid (parameter|argument|field)|instead|verified/i;

const isField = (name: RegExp) => (text: string) => name.test(text) && REFUSED.test(text);

/** The first that is asked for and changes the request is tried; the order is from the narrow to the wide. */
const RULES: readonly Rule[] = [
  {
    // Mistral, NVIDIA NIM by model (dnakov/anon-kode#53, HKUDS/DeepTutor#420).
    adjustment: 'without_usage',
    path: null,
    isAskedFor: (text) => /stream_options|include_usage/.test(text),
    change: (body) => without(body, 'stream_options'),
  },
  {
    // OpenAI for organisations that are not verified, vLLM with some fields (lobehub/lobehub#9385, vllm-project/vllm#24956).
    adjustment: 'without_stream',
    path: null,
    isAskedFor: isField(/\bstream(ing|ed)?\b/i),
    change: asWhole,
  },
  {
    // OpenAI's gpt-5 and o series, and Azure with them (platform.openai.com/docs, Reasoning).
    adjustment: 'max_completion_tokens',
    path: CHAT,
    isAskedFor: isField(/\bmax_tokens\b/),
    change: (body) => renamed(body, 'max_tokens', 'max_completion_tokens'),
  },
  {
    // Mistral, and older engines (Gitlawb/openclaude#739).
    adjustment: 'max_tokens',
    path: CHAT,
    isAskedFor: isField(/\bmax_completion_tokens\b/),
    change: (body) => renamed(body, 'max_completion_tokens', 'max_tokens'),
  },
  {
    // OpenAI takes 64 characters.
    adjustment: 'without_user',
    path: CHAT,
    isAskedFor: (text, { codes }) =>
      /(^|['"`.\s])user(['"`:\s]|$)/.test(text) &&
      (REFUSED.test(text) || codes.includes('string_above_max_length')),
    change: (body) => without(body, 'user'),
  },
  {
    // Kimi and DeepSeek while they think; Kimi takes an empty one for none (earendil-works/pi#4251, 9router#801).
    adjustment: 'filled_reasoning',
    path: CHAT,
    isAskedFor: (text) => /reasoning_content/.test(text) && WANTED.test(text),
    change: (body) => editedMessages(body, ['assistant'], filledReasoning),
  },
  {
    // Mistral, Groq, Cerebras (charmbracelet/crush#1590, janhq/jan#8136).
    adjustment: 'without_reasoning',
    path: CHAT,
    isAskedFor: (text) =>
      /reasoning_content|messages.{0,40}\breasoning(_details)?\b/.test(text) && !WANTED.test(text),
    change: (body) => editedMessages(body, ['"reasoning'], withoutReasoning),
  },
  {
    // Mistral: nine letters and digits; OpenAI: up to forty (anomalyco/opencode#1680, vercel/ai#5171).
    adjustment: 'short_call_ids',
    path: CHAT,
    isAskedFor: (text) =>
      /tool.?call.?id.{0,80}length of 9|tool_calls?\b.{0,20}\bid\b.{0,20}too long/i.test(text),
    change: (body) => editedMessages(body, ['tool_call'], shortCallIds),
  },
  {
    // Gemini 3, for calls of other models (ai.google.dev/gemini-api/docs/thought-signatures, FAQs).
    adjustment: 'call_signatures',
    path: CHAT,
    isAskedFor: (text) => /thought_?signature/i.test(text),
    change: (body) => editedMessages(body, ['tool_calls'], signedCalls),
  },
  {
    // Anthropic, for ids such as Kimi's `functions.read:0` (BerriAI/litellm#34523).
    adjustment: 'plain_call_ids',
    path: '/messages',
    isAskedFor: (text) => /tool_use(_id|\.id)\b.{0,40}pattern/i.test(text),
    change: ({ bytes, members }) => withPlainCallIds(bytes, members),
  },
  {
    // Anthropic: while it thinks, the last turn of a tool loop has to begin with a thought; DeepSeek wants all of them.
    adjustment: 'thinking_off',
    path: '/messages',
    isAskedFor: (text) =>
      /thinking/.test(text) &&
      !/signature/.test(text) &&
      (/Expected/.test(text) || WANTED.test(text)),
    change: ({ bytes, members }) => withThinkingOff(bytes, members),
    isForThisRequest: true,
  },
  {
    // Anthropic, for a thought of another model.
    adjustment: 'without_thinking',
    path: '/messages',
    isAskedFor: (text) => /signature/i.test(text),
    change: ({ bytes, members }) => withoutThinking(bytes, members),
    isForThisRequest: true,
  },
  {
    // OpenAI, for items of another organisation or host (BerriAI/litellm, exception_mapping_utils.py).
    adjustment: 'without_foreign_items',
    path: '/responses',
    isAskedFor: (text) =>
      /encrypted_content|could not be verified|item .{0,80}not found|expected an id that begins/i.test(
        text,
      ),
    change: ({ bytes, members }) => withoutForeignItems(bytes, members),
    isForThisRequest: true,
  },
];

/** The refusal asks for more of a field, not for less. */
const WANTED = /missing|required|must be (passed|provided|included|present)/i;

/** A request that was refused: its body as it was sent. */
export interface Refused {
  readonly error: UpstreamError;
  readonly path: string;
  readonly body: Buffer;
  readonly made: ReadonlySet<Adjustment>;
  /** A whole answer will do: the caller did not ask for a stream, or one can be made of it. */
  readonly mayBeWhole: boolean;
}

/** The change that would answer a refusal; null if it names nothing that can be changed. */
export function adjustmentAfter({
  error,
  path,
  body,
  made,
  mayBeWhole,
}: Refused): Adjustment | null {
  const text = `${error.param ?? ''} ${error.codes.join(' ')} ${error.message.slice(0, MAX_TEXT)}`;
  let read: Body | null = null;
  const rule = RULES.find((each) => {
    const isTried =
      made.has(each.adjustment) ||
      (isLimit(each.adjustment) && LIMITS.some((other) => made.has(other)));
    if (isTried || (each.path !== null && each.path !== path)) return false;
    if (each.adjustment === 'without_stream' && !mayBeWhole) return false;
    if (!each.isAskedFor(text, error)) return false;
    read ??= bodyOf(body);
    return each.change(read) !== null;
  });
  return rule?.adjustment ?? null;
}

/** An upstream that refuses both names of the limit is not asked in circles. */
const LIMITS: readonly Adjustment[] = ['max_tokens', 'max_completion_tokens'];

const isLimit = (adjustment: Adjustment): boolean => LIMITS.includes(adjustment);

/** What was refused stands at the start of a message. */
const MAX_TEXT = 2000;

/** The body with these changes, as far as there is something to change. */
export function adjustedBody(bytes: Buffer, made: ReadonlySet<Adjustment>): Buffer {
  if (made.size === 0) return bytes;
  let body = bytes;
  for (const { adjustment, change } of RULES)
    if (made.has(adjustment)) body = change(bodyOf(body)) ?? body;
  return body;
}

const bodyOf = (bytes: Buffer): Body => ({ bytes, members: topLevelMembers(bytes) });

function without({ bytes, members }: Body, name: string): Buffer | null {
  const left = withoutMembers(bytes, members, ({ key }) => key === name);
  return left === bytes ? null : left;
}

function asWhole(body: Body): Buffer | null {
  if (smallValueOf(body.bytes, body.members, 'stream') !== true) return null;
  const { bytes, members } = bodyOf(without(body, 'stream_options') ?? body.bytes);
  return withMembers(bytes, members, { stream: 'false' });
}

function renamed({ bytes, members }: Body, from: string, to: string): Buffer | null {
  const old = members.find(({ key }) => key === from);
  if (old === undefined) return null;
  const left = bodyOf(withoutMembers(bytes, members, (member) => member === old));
  // Whoever sends both means the newer name.
  if (members.some(({ key }) => key === to)) return left.bytes;
  return withMembers(left.bytes, left.members, {
    [to]: bytes.toString('utf8', old.start, old.end),
  });
}

/** `edit` gets the messages with one of the words in them; see `editedList`. */
function editedMessages(
  { bytes, members }: Body,
  words: readonly string[],
  edit: (message: Json) => Json,
): Buffer | null {
  const list = members.find(({ key }) => key === 'messages');
  if (list === undefined) return null;
  const messages = editedList(bytes, list, words, (each) => (isObject(each) ? edit(each) : each));
  return messages === null ? null : withMembers(bytes, members, { messages });
}

const REASONING = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

function withoutReasoning(message: Json): Json {
  if (!REASONING.some((name) => name in message)) return message;
  const {
    reasoning_content: _content,
    reasoning: _text,
    reasoning_details: _details,
    ...left
  } = message;
  return left;
}

function filledReasoning(message: Json): Json {
  const { role, reasoning_content: known, reasoning } = message;
  if (role !== 'assistant' || (typeof known === 'string' && known !== '')) return message;
  const text = typeof reasoning === 'string' && reasoning !== '' ? reasoning : '.';
  return { ...message, reasoning_content: text };
}

function shortCallIds(message: Json): Json {
  const { tool_calls: calls, tool_call_id: answered } = message;
  const list = listOf(calls);
  const shorter = list.map((call) => (isObject(call) ? withShortId(call) : call));
  const id = shortId(answered);
  if (id === answered && shorter.every((call, at) => call === list[at])) return message;
  return {
    ...message,
    ...(calls === undefined ? {} : { tool_calls: shorter }),
    ...(answered === undefined ? {} : { tool_call_id: id }),
  };
}

function withShortId(call: Json): Json {
  const id = shortId(call['id']);
  return id === call['id'] ? call : { ...call, id };
}

/** The same one for the same id, in a call and in its result. */
function shortId(id: unknown): unknown {
  if (typeof id !== 'string' || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

/** Google's word for a call that another model made. */
const NOT_CHECKED = { google: { thought_signature: 'skip_thought_signature_validator' } };

function signedCalls(message: Json): Json {
  const calls = listOf(message['tool_calls']);
  const signed = calls.map((call) =>
    isObject(call) && memberOf(call, 'extra_content', 'google', 'thought_signature') === undefined
      ? { ...call, extra_content: NOT_CHECKED }
      : call,
  );
  return signed.every((call, at) => call === calls[at])
    ? message
    : { ...message, tool_calls: signed };
}

/** What upstreams are known to refuse, by model: most hosts have models of many makers. */
export interface Adjustments {
  /** To be made before a request is sent. */
  at(id: string, model: string): ReadonlySet<Adjustment>;
  /** A request with these changes was answered. `hadUsage`: it was asked for its usage. */
  accepted(id: string, model: string, made: ReadonlySet<Adjustment>, hadUsage: boolean): void;
  /** A request that asked for its usage failed without saying why: it is not asked for for a while, unless it was once told. */
  suspectUsage(id: string, model: string): void;
  /** Its address or its engine changed. */
  forget(id: string): void;
}

/** A host may have learnt a field, an organisation may be verified: then the refusal is tried again. */
const REMEMBERED_MS = 3_600_000;
/** How long an upstream that never told its usage is not asked for it after an unexplained failure. */
const SUSPECTED_MS = 600_000;
/** Some models of a hundred machines; the oldest is dropped. */
const MAX_REMEMBERED = 1000;

interface Known {
  /** Until when each is made, in clock ticks. */
  readonly until: Map<Adjustment, number>;
  /** It was asked for the usage and answered. */
  tellsUsage: boolean;
}

const NONE: ReadonlySet<Adjustment> = new Set();

export function createAdjustments(clock: Clock): Adjustments {
  const known = new Map<string, Known>();

  function knownAt(key: string): Known {
    const before = known.get(key);
    if (before !== undefined) return before;
    const fresh: Known = { until: new Map(), tellsUsage: false };
    known.set(key, fresh);
    const [oldest] = known.keys();
    if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
    return fresh;
  }

  return {
    at(id, model) {
      const until = known.get(keyOf(id, model))?.until;
      if (until === undefined || until.size === 0) return NONE;
      const now = clock.ticks();
      return new Set([...until.keys()].filter((each) => (until.get(each) ?? 0) > now));
    },
    accepted(id, model, made, hadUsage) {
      const key = keyOf(id, model);
      if (hadUsage && known.get(key)?.tellsUsage !== true) knownAt(key).tellsUsage = true;
      if (made.size === 0) return;
      const { until } = knownAt(key);
      for (const { adjustment, isForThisRequest } of RULES) {
        const isLearnt = made.has(adjustment) && isForThisRequest !== true;
        if (isLearnt && (until.get(adjustment) ?? 0) <= clock.ticks())
          until.set(adjustment, clock.ticks() + REMEMBERED_MS);
      }
    },
    suspectUsage(id, model) {
      const at = knownAt(keyOf(id, model));
      if (!at.tellsUsage) at.until.set('without_usage', clock.ticks() + SUSPECTED_MS);
    },
    forget(id) {
      for (const key of known.keys()) if (key.startsWith(keyOf(id, ''))) known.delete(key);
    },
  };
}

const keyOf = (id: string, model: string) => `${id} ${model}`;
