import type { Knowledge } from '../memory/memory.ts';
import {
  type BodyChange,
  bodyOf,
  type JsonBody,
  memberAt,
  smallValueOf,
  withMembers,
} from '../protocols/json-edit.ts';
import { isObject, isTooDeep, memberOf, parseJson } from '../../platform/json.ts';
import { withoutThinking } from '../protocols/messages/history.ts';
import * as turns from '../protocols/turns.ts';
import type { ErrorResponse } from './failure.ts';
import { type RefusedField, refusedFields, withoutFields } from './refused-fields.ts';
import { isTokenLimit, type TokenLimit, tokenLimitIn, withinLimit } from './token-limits.ts';

/** A budget of thoughts is left to the model; an agent without thoughts is of more use than one without tools. */
const withOtherEffort: BodyChange = (body) => {
  if (memberOf(smallValueOf(body, 'thinking'), 'type') === 'enabled')
    return withMembers(body, { thinking: '{"type":"adaptive"}' });
  const hasTools = memberAt(body, 'tools') !== undefined;
  return hasTools && smallValueOf(body, 'reasoning_effort') !== 'none'
    ? withMembers(body, { reasoning_effort: '"none"' })
    : null;
};

/** A schema that any object fulfils, in place of none. */
const ANY_SCHEMA =
  '{"type":"json_schema","json_schema":{"name":"object","schema":{"type":"object"}}}';

const withAnySchema: BodyChange = (body) =>
  memberOf(smallValueOf(body, 'response_format'), 'type') === 'json_object'
    ? withMembers(body, { response_format: ANY_SCHEMA })
    : null;

/**
 * What is rewritten instead of left out, and what a refusal says that asks for it; the general rule is in refused-fields.ts.
 * The first that is asked for and changes the request is made.
 */
const REWRITES = {
  other_effort: [
    withOtherEffort,
    // OpenAI since gpt-5.4; those since 5.6 think unless they are told not to (charmbracelet/crush#2913, BerriAI/litellm#34569).
    /tools with reasoning_effort are not supported/i,
    // Anthropic's later models (zhukunpenglinyutong/jetbrains-cc-gui#1003).
    /thinking\.type\.enabled.{0,9}is not supported/i,
  ],
  // OpenAI, for tools of MCP servers in Go (containers/kubernetes-mcp-server#340, inboxapi/cli#106); DeepSeek, for a tool of
  // Codex (openai/codex#36441); LM Studio (QwenLM/qwen-code#320); Anthropic, for several (langchain-ai/langchain#39271).
  tool_schemas: [
    turns.withObjectSchemas,
    /\b(parameters|(input_)?schema)\b.{0,60}\b(type|object|properties|top level)\b/is,
  ],
  // LM Studio (lmstudio-ai/lmstudio-bug-tracker#189).
  any_schema: [
    withAnySchema,
    /response_format\b.{0,60}\bjson_schema|json_object\b.{0,60}\bsupported/i,
  ],
  // Kimi and DeepSeek while they think; Kimi takes an empty one for none (earendil-works/pi#4251, 9router#801).
  filled_reasoning: [
    turns.withFilledReasoning,
    /reasoning_content.{0,80}(missing|required|must be (passed|provided|included|present))|missing.{0,80}reasoning_content/i,
  ],
  sound_calls: [
    turns.withSoundCalls,
    // Mistral: nine letters and digits; OpenAI: up to forty, in Responses 64 (anomalyco/opencode#1680, vercel/ai#5171).
    /tool.?call.?id.{0,1000}length of 9|(tool_calls?\b.{0,20}\bid|\bcall_id)\b.{0,20}too long/is,
    // Anthropic, for ids such as Kimi's `functions.read:0` (BerriAI/litellm#34523), and for engines that count the calls
    // of each answer from 0 (brainlid/langchain#619, vllm-project/vllm#50295).
    /tool_use(_id|\.id)\b.{0,40}pattern|\btool_use\b.{0,9}\bids?\b.{0,9}must be unique/i,
    // llama.cpp (noonghunna/club-3090#1195); Ollama (openai/openai.go); Anthropic; vLLM (local-inference-lab/vllm#684).
    /\b(arguments|tool_use\.input)\b.{0,40}\b(json|dictionary)\b|invalid tool call arguments|line 1 column \d{1,9} \(char/is,
    // Anthropic (letta-ai/letta#3308, posit-dev/positron#15719); OpenAI, in Responses too, and DeepSeek.
    /tool_use\W{1,3}ids? .{0,20}without|unexpected \W?tool_use_id|tool_use must have a single result/i,
    /must be followed by tool messages|must be a response to a prece|no tool (output|call) found for/i,
    // Mistral; Gemini; Bedrock; MiniMax; Moonshot.
    /number of function (calls|response parts)|toolResult blocks|tool result's tool id|tool_call_id .{0,80}not found/i,
  ],
  // Gemini 3, for calls of other models (ai.google.dev/gemini-api/docs/thought-signatures, FAQs).
  call_signatures: [turns.withSignedCalls, /thought_?signature/i],
  without_thoughts: [
    (body) => turns.withoutForeignItems(body) ?? withoutThinking(body),
    // Anthropic, for a thought of another model, or of none (Wei-Shaw/sub2api#996, anthropics/claude-code#63418), and where
    // the last turn of a tool loop does not begin with one; DeepSeek wants all of them. OpenAI and llama.cpp, for the
    // parts of Magistral.
    /signature|(contain|expected|value|variant|part type|tag)\W.{0,9}\bthinking\b|thinking\W{1,3}blocks .{0,60}cannot be modified|unsupported content(\[\]\.| part )type/i,
    // OpenAI, for items of another organisation or host, and a thought that the limit cut off (BerriAI/litellm,
    // exception_mapping_utils.py; continuedev/continue#8933); vLLM (vllm-project/vllm#28248); llama.cpp, of which older
    // versions call it an error of their own.
    /encrypted.content|item .{0,80}not found|expected an id that begins|without its required|item\['content'\] is (not an array|empty)/i,
  ],
  // Templates of Gemma and Mistral (microsoft/autogen#1037, suitenumerique/conversations#197); Mistral, for a user behind
  // a result (BerriAI/litellm#17761, zed-industries/zed#37021).
  alternating_turns: [
    turns.withAlternatingTurns,
    /\balternat(e|ing)\b|\buser'? after (role '?)?tool/i,
  ],
  strict_turns: [
    turns.withStrictTurns,
    // Mistral (solbrowse/extension#16), Anthropic (microsoft/autogen#6083, dirge-code/dirge#757), OpenAI (vercel/ai#14950,
    // chatboxai/chatbox#2079), Ollama (QwenLM/qwen-code#3421), DeepSeek (jcode#321), Bedrock (OpenHands/OpenHands#5339,
    // earendil-works/pi#3443): a model that thinks up to its limit says nothing.
    /\b(content|parts|messages?|text|tool_calls)\b.{0,80}\b(empty|blank|required|null|nil|none|must be set|at least one|non-whitespace)\b|too short.{0,9}\bmessages/is,
    // Qwen's templates, which llama.cpp and Ollama call an error of their own (ggml-org/llama.cpp#27367,
    // ollama/ollama#17774, 0xku/kon#5); Mistral; Z.ai (openai/codex#9612, openclaw/openclaw#23115); DeepSeek
    // (earendil-works/pi#1048); engines that know users and assistants alone (anthropics/claude-code#63469).
    /\b(system|developer) message|(['"`]developer|value: ['"`]system)['"`]|角色信息不正确/i,
    // But for that of a turn that is named by its speaker: it is not what is refused.
    /\brole\b(?!(?::|\W{0,3}['"`]|: (?=\w+['"`]))(?:assistant|tool|user)\b)/i,
  ],
} as const satisfies Readonly<Record<string, readonly [BodyChange, ...RegExp[]]>>;

const NAMES = Object.keys(REWRITES) as readonly (keyof typeof REWRITES)[];
/** Some engines take the request to be right, and themselves to be at fault. */
const SAID_AS_500 = /^(sound_calls|without_thoughts|alternating_turns|strict_turns)$/;

/**
 * A change of a request for an upstream that refuses it as it is: hosts and engines differ in fields that callers and
 * the gateway send without knowing who will answer.
 */
export type Adjustment = (typeof NAMES)[number] | RefusedField | TokenLimit;
type Adjustments = ReadonlySet<Adjustment>;

/** A request that was refused, as it was sent. */
interface RefusedRequest extends Pick<ErrorResponse, 'status' | 'error'> {
  /** Its answer is words; of vectors and sounds each field says what they are to be, but for how vectors are written. */
  readonly isForWords: boolean;
  readonly body: Buffer;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly made: Adjustments;
  /** A whole answer will do: the caller did not ask for a stream, or one can be made of it. */
  readonly mayBeWhole: boolean;
}

/** What strict hosts answer to fields that they do not take; 404 for items of a conversation. */
export const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 404, 422]);

/** An upstream may name what it likes, and each time it is asked again. */
const MAX_CHANGES = 16;
/** What was refused stands at the start of a message. */
const MAX_TEXT = 2000;
/** A longer request is not looked through, as that blocks the event loop; a conversation is refused at its first turns. */
const MAX_BYTES = 4 * 1024 * 1024;

export const WITHOUT_STREAM = 'without stream';
export const WITHOUT_USAGE = 'without stream_options';

/** The changes that would answer a refusal; none if it names nothing that can be changed. */
export function adjustmentsAfter(refused: RefusedRequest): readonly Adjustment[] {
  const { status, isForWords, made, headers, mayBeWhole } = refused;
  if (made.size >= MAX_CHANGES || refused.body.length > MAX_BYTES) return [];
  const request = parseJson(refused.body.toString('utf8'));
  if (!isObject(request) || isTooDeep(request)) return [];
  const body = bodyOf(refused.body);
  const error = { ...refused.error, message: refused.error.message.slice(0, MAX_TEXT) };
  // To OpenAI any fault of a turn is one of its role.
  const place = error.param?.replace(/^\w{1,20}\S{1,20}\.role$/, '') ?? '';
  const text = `${place} ${error.codes.join(' ')} ${error.message}`;
  const rewritten = NAMES.find((name) => {
    if (made.has(name) || (status === 500 && !SAID_AS_500.test(name))) return false;
    const [change, ...asks] = REWRITES[name];
    return asks.some((words) => words.test(text)) && change(body) !== null;
  });
  if (rewritten !== undefined) return [rewritten];
  if (status === 500) return [];
  const limit = [...made].some(isTokenLimit) ? null : tokenLimitIn(text);
  if (limit !== null && withinLimit(limit)(body) !== null) return [limit];
  const betas = betasIn(headers).map((beta) => [beta, true]);
  const inHeader = betas.length > 0 ? { [BETAS]: Object.fromEntries(betas) as unknown } : {};
  return refusedFields(error, body, { ...request, ...inHeader }).filter((each) => {
    const isFit = isForWords || each.startsWith('without encoding_format');
    return isFit && !made.has(each) && (each !== WITHOUT_STREAM || mayBeWhole);
  });
}

export function adjustedBody(given: JsonBody, made: Adjustments): JsonBody {
  if (made.size === 0) return given;
  const changed = (body: JsonBody, change: BodyChange) => change(body) ?? body;
  const rewrites = NAMES.filter((name) => made.has(name)).map((name) => REWRITES[name][0]);
  const left = withoutFields([...made], rewrites.reduce(changed, given));
  return [...made].filter(isTokenLimit).map(withinLimit).reduce(changed, left);
}

/** The values of this header count as fields inside of it: Bedrock and Vertex know fewer than Claude Code asks for. */
const BETAS = 'anthropic-beta';

function betasIn(headers: readonly string[]): readonly string[] {
  const value = headers.includes(BETAS) ? headers[headers.indexOf(BETAS) + 1] : undefined;
  return value?.match(/[^,\s]+/g) ?? [];
}

export function adjustedHeaders(headers: readonly string[], made: Adjustments): readonly string[] {
  const sent = made.size === 0 ? [] : betasIn(headers);
  const isGone = (field: string) => made.has(`without ${field}`);
  const left = sent.filter((beta) => !isGone(BETAS) && !isGone(`${BETAS}.${beta}`));
  if (left.length === sent.length) return headers;
  const header = left.length === 0 ? [] : [BETAS, left.join(',')];
  return headers.toSpliced(headers.indexOf(BETAS), 2, ...header);
}

/** How long an upstream that never told its usage is not asked for it after an unexplained failure. */
const SUSPECTED_MS = 600_000;

/** What an upstream is known to refuse, by model, as most hosts have models of many makers: the changes to make at once. */
export function knownRefusals(known: Knowledge, model: string): Adjustments {
  const own = known.entries('refuses').filter(({ value }) => value.model === model);
  return new Set(own.map(({ value }) => value.change as Adjustment));
}

/** What is known already is not known for longer: hosts learn, too. */
function noteRefusal(known: Knowledge, model: string, change: Adjustment, ms?: number): void {
  const key = `${model}\n${change}`;
  if (known.get('refuses', key) === null) known.set('refuses', key, { model, change }, ms);
}

/** A request with these changes was answered. */
export function learnRefusals(known: Knowledge, model: string, made: Adjustments): void {
  // These are about one conversation or request rather than about its upstream.
  const isPassing = (each: Adjustment) => each === 'without_thoughts' || isTokenLimit(each);
  for (const each of made) if (!isPassing(each)) noteRefusal(known, model, each);
}

/** A request that asked for its usage was answered, or failed without a reason: then it is not asked for for a while. */
export function learnUsage(known: Knowledge, model: string, isAnswered: boolean): void {
  if (known.get('tells', model) !== null) return;
  if (isAnswered) known.set('tells', model, true);
  else noteRefusal(known, model, WITHOUT_USAGE, SUSPECTED_MS);
}
