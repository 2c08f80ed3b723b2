import type { Clock } from '../../platform/clock.ts';
import type { UpstreamError } from '../protocols/upstream-error.ts';
import {
  type BodyChange,
  editedObjects,
  smallValueOf,
  withMembers,
  withoutMembers,
} from '../protocols/json-edit.ts';
import { type Member, topLevelMembers } from '../protocols/json-scan.ts';
import {
  withAnswersToResults,
  withFilledReasoning,
  withNotesAsUser,
  withPlainTurns,
  withShortCallIds,
  withSignedCalls,
  withoutEmptyTurns,
  withoutReasoning,
} from '../protocols/chat/history.ts';
import {
  withPlainCallIds,
  withThinkingOff,
  withUniqueCallIds,
  withoutThinking,
} from '../protocols/messages/history.ts';
import {
  withBoundedCallIds,
  withToldThoughts,
  withoutEncrypted,
  withoutEncryption,
  withoutForeignItems,
  withoutItemIds,
  withoutLoneThoughts,
} from '../protocols/responses/history.ts';
import { isObject, memberOf } from '../../platform/json.ts';
import { type TokenLimit, tokenLimitIn, withTokenLimit } from './token-limit.ts';

/** Whether a refusal asks for the change. `text`: the field that it names, and its words. */
type Asks = RegExp | ((text: string, error: UpstreamError) => boolean);

interface Rule<Name extends string> {
  readonly adjustment: Name;
  /** Null: every endpoint. */
  readonly path: string | null;
  readonly asks: Asks;
  /** Null if there is nothing to change. */
  readonly change: BodyChange;
  /**
   * `this_request`: it is about this conversation rather than about this upstream. `said_as_500`: some engines take the
   * request to be right, and themselves to be at fault.
   */
  readonly scope: 'upstream' | 'this_request' | 'said_as_500';
}

const rule = <Name extends string>(
  adjustment: Name,
  path: string | null,
  asks: Asks,
  change: BodyChange,
  scope: Rule<Name>['scope'] = 'upstream',
): Rule<Name> => ({ adjustment, path, asks, change, scope });

const CHAT = '/chat/completions';
const MESSAGES = '/messages';
const RESPONSES = '/responses';

/** How hosts say that they do not take a field; a value that is too large is another matter. */
const REFUSED =
  /unsupported|not support|unknown|unrecognized|unexpected|extra (inputs?|fields?)|extra_forbidden|not (permitted|allowed|available)|forbidden|invalid (parameter|argument|field)|instead|verified/i;

const isField = (name: RegExp) => (text: string) => name.test(text) && REFUSED.test(text);

/** How OpenAI says that it cannot place an item. */
const FOREIGN_ITEM =
  /item .{0,80}not found|expected an id that begins|unknown parameter: 'input\[|without its required/i;
const FOREIGN_ITEMS = new RegExp(
  `encrypted_content|could not be verified|${FOREIGN_ITEM.source}`,
  'i',
);

const without =
  (name: string): BodyChange =>
  (bytes, members) => {
    const left = withoutMembers(bytes, members, ({ key }) => key === name);
    return left === bytes ? null : left;
  };

function asWhole(body: Buffer, members: readonly Member[]): Buffer | null {
  if (smallValueOf(body, members, 'stream') !== true) return null;
  const bytes = without('stream_options')(body, members) ?? body;
  return withMembers(bytes, topLevelMembers(bytes), { stream: 'false' });
}

/** An agent without thoughts is of more use than one without tools. */
const withEffortOff: BodyChange = (bytes, members) =>
  members.some(({ key }) => key === 'tools') &&
  smallValueOf(bytes, members, 'reasoning_effort') !== 'none'
    ? withMembers(bytes, members, { reasoning_effort: '"none"' })
    : null;

const renamed =
  (from: string, to: string): BodyChange =>
  (bytes, members) => {
    const old = members.find(({ key }) => key === from);
    if (old === undefined) return null;
    const left = withoutMembers(bytes, members, (member) => member === old);
    // A caller that sends both means the newer name.
    if (members.some(({ key }) => key === to)) return left;
    return withMembers(left, topLevelMembers(left), {
      [to]: bytes.toString('utf8', old.start, old.end),
    });
  };

/** The refusal asks for more of a field, not for less. */
const WANTED = /missing|required|must be (passed|provided|included|present)/i;

const isReasoning = (text: string): boolean =>
  (/reasoning_content|messages.{0,40}\breasoning(_details)?\b/.test(text) && !WANTED.test(text)) ||
  /(value|variant|part type|tag).{0,9}\bthinking\b|unsupported content(\[\]\.| part )type/i.test(
    text,
  );

const isPlainTurn = (text: string): boolean =>
  (/messages\b.{0,120}\b(assistant\.\w|property ')/.test(text) && REFUSED.test(text)) ||
  /tool_calls\b.{0,9}empty array/.test(text);

/** The body without a member of one of its objects, and without the object if nothing else is in it; null if it has none. */
const withoutInner =
  (holder: string, inner: string): BodyChange =>
  (bytes, members) => {
    const value = smallValueOf(bytes, members, holder);
    if (!isObject(value) || !(inner in value)) return null;
    const { [inner]: _, ...left } = value;
    return Object.keys(left).length === 0
      ? without(holder)(bytes, members)
      : withMembers(bytes, members, { [holder]: JSON.stringify(left) });
  };

/** The first that has something to change. */
const either =
  (...changes: readonly BodyChange[]): BodyChange =>
  (bytes, members) =>
    changes.reduce<Buffer | null>((changed, change) => changed ?? change(bytes, members), null);

/** How hard to think, in a chat completion, in the Responses and in the Messages API. */
const EFFORT = /reasoning[._]?effort|output_config\b(?!\.format)|effort parameter/i;
const withoutThisEffort = either(
  without('reasoning_effort'),
  withoutInner('reasoning', 'effort'),
  withoutInner('output_config', 'effort'),
);

/** Other words for an effort are taken. */
const isThisEffort = (text: string): boolean =>
  (EFFORT.test(text) || /think value/.test(text)) &&
  /supported values|must be one of|input should be|invalid value|think value .{0,20} not supported/i.test(
    text,
  );

const NO_THOUGHT = /does not support thinking/i;

const isAnyEffort = (text: string): boolean =>
  (EFFORT.test(text) && REFUSED.test(text) && !isThisEffort(text)) || NO_THOUGHT.test(text);

/** Tools that take nothing say no more than that it is an object. */
const withProperties = editedObjects('tools', ['"object"'], (tool) => {
  const own = isObject(tool['function']) ? tool['function'] : tool;
  const { parameters } = own;
  if (!isObject(parameters) || parameters['type'] !== 'object') return tool;
  if ('properties' in parameters) return tool;
  const filled = { ...own, parameters: { ...parameters, properties: {} } };
  return own === tool ? filled : { ...tool, function: filled };
});

/** Models that think are sampled in their own way. */
const SAMPLING = [
  'temperature',
  'top_p',
  'top_k',
  'presence_penalty',
  'frequency_penalty',
] as const;
const OWN_SAMPLING =
  /unsupported|not support|unrecognized|extra inputs|deprecated|only .{1,20} is allowed/i;
const isSampling = (field: string) => (text: string) =>
  new RegExp(`\\b${field}\\b`).test(text) && OWN_SAMPLING.test(text);

const withoutTopP: BodyChange = (bytes, members) =>
  members.some(({ key }) => key === 'temperature') ? without('top_p')(bytes, members) : null;

const NOT_ADAPTIVE =
  /adaptive thinking is not supported|'adaptive'.{0,60}(not supported|not match)/i;

/** A budget of thoughts is left to the model. */
const withAdaptive: BodyChange = (bytes, members) =>
  memberOf(smallValueOf(bytes, members, 'thinking'), 'type') === 'enabled'
    ? withMembers(bytes, members, { thinking: '{"type":"adaptive"}' })
    : null;

const isUser: Asks = (text, { codes }) =>
  /(^|['"`.\s])user(['"`:\s]|$)/.test(text) &&
  (REFUSED.test(text) || codes.includes('string_above_max_length'));

const isThought = (text: string): boolean =>
  /thinking/.test(text) && !/signature/.test(text) && (/Expected/.test(text) || WANTED.test(text));

const EMPTY_TURN =
  /either content or tool_calls|must have non-empty content|content type: <nil>|'content': expected .{0,40}got null/;

const LATE_SYSTEM =
  /system message must be (at the beginning|(the )?first)|role '?(system|developer)'? after role/i;
/** The roles that a host knows, as it lists them. */
const ROLES =
  /\brole\b.{0,60}['"]?user['"]?\W{1,4}(or\W{1,3})?assistant|unexpected role\W{1,3}system/i;
const isNote = (text: string): boolean => LATE_SYSTEM.test(text) || ROLES.test(text);

const SHORT_ID = /tool.?call.?id.{0,1000}length of 9|tool_calls?\b.{0,20}\bid\b.{0,20}too long/i;

const ALIEN_THOUGHT = /signature|must contain thinking|thinking` blocks .{0,60}cannot be modified/i;

const UNSEALED = /encrypted content is not supported/i;

/** The first that is asked for and changes the request is tried; the order is from the narrow to the wide. */
const RULES = [
  // Mistral, NVIDIA NIM by model (dnakov/anon-kode#53, HKUDS/DeepTutor#420).
  rule('without_usage', null, /stream_options|include_usage/, without('stream_options')),
  // OpenAI for organisations that are not verified, vLLM with some fields (lobehub/lobehub#9385, vllm-project/vllm#24956).
  rule('without_stream', null, isField(/\bstream(ing|ed)?\b/i), asWhole),
  // OpenAI's gpt-5 and o series, and Azure with them (platform.openai.com/docs, Reasoning).
  rule(
    'max_completion_tokens',
    CHAT,
    isField(/\bmax_tokens\b/),
    renamed('max_tokens', 'max_completion_tokens'),
  ),
  // Mistral, and older engines (Gitlawb/openclaude#739).
  rule(
    'max_tokens',
    CHAT,
    isField(/\bmax_completion_tokens\b/),
    renamed('max_completion_tokens', 'max_tokens'),
  ),
  // OpenAI takes 64 characters.
  rule('without_user', CHAT, isUser, without('user')),
  // OpenAI since gpt-5.4; those since 5.6 think unless they are told not to (charmbracelet/crush#2913, BerriAI/litellm#34569).
  rule('without_effort', CHAT, /tools with reasoning_effort are not supported/i, withEffortOff),
  // Ollama and Anthropic, for models that do not think, or not as they like; DashScope, Bedrock. Claude Code goes by the
  // name that it knows, and the model may be another (anthropics/claude-code#2245, #29531, #89633).
  rule('without_thought', MESSAGES, NO_THOUGHT, withThinkingOff),
  rule('without_adaptive', MESSAGES, NOT_ADAPTIVE, withThinkingOff),
  // Anthropic's later models (zhukunpenglinyutong/jetbrains-cc-gui#1003).
  rule('adaptive', MESSAGES, /thinking\.type\.enabled.{0,9}is not supported/, withAdaptive),
  // OpenAI by model, Groq, Ollama, vLLM, SGLang (Kilo-Org/cloud#3807, earendil-works/pi#1745, ollama/ollama#12561,
  // router-for-me/CLIProxyAPI#1572): the model thinks as hard as it does by itself.
  rule('without_this_effort', null, isThisEffort, withoutThisEffort, 'this_request'),
  // Models that do not think, or that cannot be told how hard: OpenAI, xAI, Groq, Ollama, Anthropic (openai/codex#36735,
  // BerriAI/litellm#16265, diegosouzapw/OmniRoute#3258, Gitlawb/openclaude#1371, anthropics/claude-code#30795).
  rule('without_any_effort', null, isAnyEffort, either(without('reasoning'), withoutThisEffort)),
  // OpenAI's gpt-5 and o series, Kimi, Claude since Opus 4.7: apps set it for another model (QwenLM/qwen-code#921,
  // tinyhumansai/openhuman#2082, szczyglis-dev/py-gpt#184).
  ...SAMPLING.map((field) =>
    rule(`without_${field}` as const, null, isSampling(field), without(field)),
  ),
  // Claude since 4.1 (anomalyco/opencode#28930).
  rule('one_of_both', null, /temperature\W+and\W+top_p\W+cannot both/i, withoutTopP),
  // Cerebras by model; OpenAI's o series. Codex sends it with each request (agno-agi/agno#4508, evalstate/fast-agent#279).
  rule(
    'without_parallel',
    CHAT,
    isField(/\bparallel_tool_calls\b/),
    without('parallel_tool_calls'),
  ),
  // OpenAI before gpt-5; Codex sends it with that name (RooCodeInc/Roo-Code#7054).
  rule(
    'without_verbosity',
    null,
    isField(/\bverbosity\b/),
    either(without('verbosity'), withoutInner('text', 'verbosity')),
  ),
  // OpenAI, for tools of MCP servers in Go (containers/kubernetes-mcp-server#340, inboxapi/cli#106).
  rule('tool_properties', null, /object schema missing properties/, withProperties),
  // Groq, Cerebras, NVIDIA NIM, Azure with others' models (zed-industries/zed#36215, #52000, sipeed/picoclaw#1019).
  rule('without_cache_key', null, isField(/\bprompt_cache_key\b/), without('prompt_cache_key')),
  // Kimi and DeepSeek while they think; Kimi takes an empty one for none (earendil-works/pi#4251, 9router#801).
  rule(
    'filled_reasoning',
    CHAT,
    (text) => /reasoning_content/.test(text) && WANTED.test(text),
    withFilledReasoning,
  ),
  // Mistral, Groq, Cerebras (charmbracelet/crush#1590, janhq/jan#8136); OpenAI and llama.cpp for Magistral's parts.
  rule('without_reasoning', CHAT, isReasoning, withoutReasoning),
  // Mistral and Groq, for what other hosts put into their answers; OpenAI, for vLLM's empty list of calls
  // (microsoft/autogen#3120, chatboxai/chatbox#2079).
  rule('plain_turns', CHAT, isPlainTurn, withPlainTurns),
  // Mistral (solbrowse/extension#16), Anthropic (microsoft/autogen#6083), OpenAI (vercel/ai#14950), Ollama
  // (QwenLM/qwen-code#3421): a model that thinks up to its limit says nothing.
  rule('without_empty_turns', CHAT, EMPTY_TURN, withoutEmptyTurns),
  // Qwen's templates, which llama.cpp and Ollama call an error of their own (ggml-org/llama.cpp#27367,
  // ollama/ollama#17774); Mistral; engines whose messages are the user's or the assistant's, for Claude Code since
  // 2.1.154 (anthropics/claude-code#63469).
  rule('notes_as_user', null, isNote, withNotesAsUser, 'said_as_500'),
  // Mistral (BerriAI/litellm#17761, zed-industries/zed#37021).
  rule('answered_results', CHAT, /role '?user'? after role '?tool/i, withAnswersToResults),
  // Mistral: nine letters and digits; OpenAI: up to forty (anomalyco/opencode#1680, vercel/ai#5171).
  rule('short_call_ids', CHAT, SHORT_ID, withShortCallIds),
  // OpenAI: up to 64 there (AnswerDotAI/fastllm#45).
  rule('short_call_ids', RESPONSES, /\bcall_id\b.{0,20}too long/i, withBoundedCallIds),
  // Gemini 3, for calls of other models (ai.google.dev/gemini-api/docs/thought-signatures, FAQs).
  rule('call_signatures', CHAT, /thought_?signature/i, withSignedCalls),
  // Anthropic, for ids such as Kimi's `functions.read:0` (BerriAI/litellm#34523).
  rule('plain_call_ids', MESSAGES, /tool_use(_id|\.id)\b.{0,40}pattern/i, withPlainCallIds),
  // Anthropic, for engines that count the calls of each answer from 0 (brainlid/langchain#619, vllm-project/vllm#50295).
  rule(
    'unique_call_ids',
    MESSAGES,
    /\btool_use\b.{0,9}\bids?\b.{0,9}must be unique/i,
    withUniqueCallIds,
  ),
  // Anthropic: while it thinks, the last turn of a tool loop has to begin with a thought; DeepSeek wants all of them.
  rule('thinking_off', MESSAGES, isThought, withThinkingOff, 'this_request'),
  // Anthropic, for a thought of another model, or of none (Wei-Shaw/sub2api#996, anthropics/claude-code#63418).
  rule('without_thinking', MESSAGES, ALIEN_THOUGHT, withoutThinking, 'this_request'),
  // Vertex, Bedrock and resellers, for what Claude Code sends (anthropics/claude-code#21612).
  rule('without_edits', MESSAGES, isField(/\bcontext_management\b/), without('context_management')),
  // OpenAI, for a thought that the limit cut off (continuedev/continue#8933).
  rule(
    'without_lone_thoughts',
    RESPONSES,
    /without its required following item/i,
    withoutLoneThoughts,
    'this_request',
  ),
  // llama.cpp, of which older versions call it an error of their own (tools/server/server-chat.cpp).
  rule(
    'told_thoughts',
    RESPONSES,
    /item\['content'\] is (not an array|empty)/,
    withToldThoughts,
    'said_as_500',
  ),
  // vLLM (vllm-project/vllm#28248).
  rule('without_encrypted', RESPONSES, UNSEALED, withoutEncrypted),
  // OpenAI's models that do not think (OpenHands/software-agent-sdk#1208).
  rule('without_encryption', RESPONSES, UNSEALED, withoutEncryption),
  // OpenAI, for items of an engine or another host (openai/openai-agents-python#3026 of one's `status`).
  rule('without_item_ids', RESPONSES, FOREIGN_ITEM, withoutItemIds, 'this_request'),
  // OpenAI, for items of another organisation or host (BerriAI/litellm, exception_mapping_utils.py).
  rule('without_foreign_items', RESPONSES, FOREIGN_ITEMS, withoutForeignItems, 'this_request'),
] as const;

/**
 * A change of a request for an upstream that refuses it as it is: hosts and engines differ in fields that callers and
 * the gateway send without knowing who will answer.
 */
export type Adjustment = (typeof RULES)[number]['adjustment'] | TokenLimit;

/** A request that was refused: its body as it was sent. */
interface Refused {
  readonly status: number;
  readonly error: UpstreamError;
  readonly path: string;
  readonly body: Buffer;
  readonly made: ReadonlySet<Adjustment>;
  /** A whole answer will do: the caller did not ask for a stream, or one can be made of it. */
  readonly mayBeWhole: boolean;
}

/** The change that would answer a refusal; null if it names nothing that can be changed. */
export function adjustmentAfter({
  status,
  error,
  path,
  body,
  made,
  mayBeWhole,
}: Refused): Adjustment | null {
  const text = `${error.param ?? ''} ${error.codes.join(' ')} ${error.message.slice(0, MAX_TEXT)}`;
  let members: readonly Member[] | null = null;
  const found = RULES.find((each) => {
    const isTried =
      made.has(each.adjustment) ||
      (isLimit(each.adjustment) && LIMITS.some((other) => made.has(other)));
    if (isTried || (each.path !== null && each.path !== path)) return false;
    if (status === 500 && each.scope !== 'said_as_500') return false;
    if (each.adjustment === 'without_stream' && !mayBeWhole) return false;
    const { asks } = each;
    if (!(asks instanceof RegExp ? asks.test(text) : asks(text, error))) return false;
    members ??= topLevelMembers(body);
    return each.change(body, members) !== null;
  });
  return found?.adjustment ?? tokenLimitIn(text, body, made);
}

/** What strict hosts answer to fields that they do not take; 404 for items of a conversation. */
export const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 404, 422]);

/** An upstream that refuses both names of the limit is not asked in circles. */
const LIMITS: readonly Adjustment[] = ['max_tokens', 'max_completion_tokens'];

const isLimit = (adjustment: Adjustment): boolean => LIMITS.includes(adjustment);

/** What was refused stands at the start of a message. */
const MAX_TEXT = 2000;

export function adjustedBody(bytes: Buffer, made: ReadonlySet<Adjustment>): Buffer {
  if (made.size === 0) return bytes;
  let body = bytes;
  for (const { adjustment, change } of RULES)
    if (made.has(adjustment)) body = change(body, topLevelMembers(body)) ?? body;
  return withTokenLimit(body, made);
}

/** What upstreams are known to refuse, by model: most hosts have models of many makers. */
export type Adjustments = ReturnType<typeof createAdjustments>;

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

export function createAdjustments(clock: Clock) {
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
    /** To be made before a request is sent. */
    at(id: string, model: string): ReadonlySet<Adjustment> {
      const until = known.get(keyOf(id, model))?.until;
      if (until === undefined || until.size === 0) return NONE;
      const now = clock.ticks();
      return new Set([...until.keys()].filter((each) => (until.get(each) ?? 0) > now));
    },
    /** A request with these changes was answered. `hadUsage`: it was asked for its usage. */
    accepted(id: string, model: string, made: ReadonlySet<Adjustment>, hadUsage: boolean) {
      const key = keyOf(id, model);
      if (hadUsage && known.get(key)?.tellsUsage !== true) knownAt(key).tellsUsage = true;
      if (made.size === 0) return;
      const { until } = knownAt(key);
      for (const { adjustment, scope } of RULES) {
        const isLearnt = made.has(adjustment) && scope !== 'this_request';
        if (isLearnt && (until.get(adjustment) ?? 0) <= clock.ticks())
          until.set(adjustment, clock.ticks() + REMEMBERED_MS);
      }
    },
    /** A request that asked for its usage failed without saying why: it is not asked for for a while, unless it was once told. */
    suspectUsage(id: string, model: string) {
      const at = knownAt(keyOf(id, model));
      if (!at.tellsUsage) at.until.set('without_usage', clock.ticks() + SUSPECTED_MS);
    },
    forget(id: string) {
      for (const key of known.keys()) if (key.startsWith(keyOf(id, ''))) known.delete(key);
    },
  };
}

const keyOf = (id: string, model: string) => `${id} ${model}`;
