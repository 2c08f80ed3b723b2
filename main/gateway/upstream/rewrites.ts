import { isObject, listOf, memberOf } from '../../platform/json.ts';
import { type BodyChange, memberAt, smallValueOf, withMembers } from '../protocols/json-edit.ts';
import { editedObjects } from '../protocols/list-edit.ts';
import { withoutThoughts } from '../protocols/thoughts.ts';
import * as turns from '../protocols/turns.ts';

type Json = Readonly<Record<string, unknown>>;

/** A budget of thoughts is left to the model; an agent without thoughts is of more use than one without tools. */
const withOtherEffort: BodyChange = (body) => {
  if (memberOf(smallValueOf(body, 'thinking'), 'type') === 'enabled')
    return withMembers(body, { thinking: '{"type":"adaptive"}' });
  const hasTools = memberAt(body, 'tools') !== undefined;
  return hasTools && smallValueOf(body, 'reasoning_effort') !== 'none'
    ? withMembers(body, { reasoning_effort: '"none"' })
    : null;
};

/** Tools as the strictest hosts take them. Of one tool alone, to be called once, `required` is a choice by name. */
const withStrictTools: BodyChange = (body) => {
  const choice = smallValueOf(body, 'tool_choice');
  const name = nameOf(choice);
  if (typeof name !== 'string') return editedObjects(['tools'], ['"'], withObjectSchema)(body);
  const ofAnthropic = { tool_choice: '{"type":"any","disable_parallel_tool_use":true}' };
  const ofOpenai = { tool_choice: '"required"', parallel_tool_calls: 'false' };
  const isAnthropic = memberOf(choice, 'type') === 'tool';
  const chosen = withMembers(body, isAnthropic ? ofAnthropic : ofOpenai);
  const edit = (tool: Json) => (nameOf(tool) === name ? withObjectSchema(tool) : []);
  return editedObjects(['tools'], ['"'], edit)(chosen) ?? chosen;
};

const nameOf = (tool: unknown) => memberOf(tool, 'function', 'name') ?? memberOf(tool, 'name');

/**
 * Of tools that take anything, or nothing, all hosts want to hear that it is an object, and of which properties. Where it
 * is one of several objects, it may have the properties of each.
 */
function withObjectSchema(tool: Json): Json {
  const own = isObject(tool['function']) ? tool['function'] : tool;
  const name = 'input_schema' in own ? 'input_schema' : 'parameters';
  const schema = own[name];
  const { anyOf, oneOf, allOf, ...known } = isObject(schema) ? schema : {};
  const choices = [anyOf, oneOf, allOf].flatMap(listOf);
  const isObjects = known['type'] === 'object' && isObject(known['properties']);
  if (schema === undefined || (isObjects && choices.length === 0)) return tool;
  const named = [...choices, known].map((each) => memberOf(each, 'properties')).filter(isObject);
  const properties: unknown = Object.assign({}, ...named);
  const whole = { ...own, [name]: { ...known, properties, type: 'object' } };
  return own === tool ? whole : { ...tool, function: whole };
}

/**
 * What is rewritten instead of left out, and what a refusal says that asks for it; the general rule is in refused-fields.ts.
 * The first that is asked for and changes the request is made.
 */
export const REWRITES = {
  other_effort: [
    withOtherEffort,
    // OpenAI since gpt-5.4; those since 5.6 think unless they are told not to (charmbracelet/crush#2913, BerriAI/litellm#34569).
    /tools with reasoning_effort are not supported/i,
    // Anthropic's later models (zhukunpenglinyutong/jetbrains-cc-gui#1003).
    /thinking\.type\.enabled.{0,9}is not supported/i,
  ],
  strict_tools: [
    withStrictTools,
    // OpenAI, for tools of MCP servers in Go (containers/kubernetes-mcp-server#340, inboxapi/cli#106); DeepSeek, for a tool
    // of Codex (openai/codex#36441); LM Studio (QwenLM/qwen-code#320); Anthropic, for several (langchain-ai/langchain#39271).
    /\b(parameters|(input_)?schema)\b.{0,60}\b(type|object|properties|top level)\b/is,
    // LM Studio takes words only (lmstudio-ai/lmstudio-bug-tracker#670).
    /\btool_choice\b/i,
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
    withoutThoughts,
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
    // But for that of a turn that is named by its speaker, which is not what is refused, and for that in the field in front
    // of the words: to OpenAI any fault of a turn is one of its role.
    /(?<!^\S{1,40})\brole\b(?!(?::|\W{0,3}['"`]|: (?=\w+['"`]))(?:assistant|tool|user)\b)/i,
  ],
} as const satisfies Readonly<Record<string, readonly [BodyChange, ...RegExp[]]>>;
