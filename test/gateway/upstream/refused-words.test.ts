import { expect, test } from 'vitest';
import type { Adjustment } from '../../../main/gateway/upstream/adjustments.ts';
import {
  adjusted,
  ASKED,
  askedBy,
  CHAT,
  FIELDS,
  forbidden,
  MESSAGES,
  type Path,
  pydantic,
  RESPONSES,
  unknownName,
  withParam,
} from '../../support/refused.ts';

/** The words in which hosts do not take a field. */
const HOSTS: Readonly<Record<string, (field: string) => unknown>> = {
  'Gemini at its address for OpenAI’s clients': (field) => [
    { error: { message: unknownName(field) } },
  ],
  Mistral: (field) => ({ object: 'error', message: forbidden(field) }),
  Groq: (field) => `property '${field}' is unsupported`,
  'Azure with models of others': (field) => `Unrecognized request argument supplied: ${field}`,
  'NVIDIA NIM': (field) => `Validation: Unsupported parameter(s): \`${field}\``,
  'OpenAI by words': (field) =>
    `Unsupported parameter: '${field}' is not supported with this model.`,
  OpenAI: (field) => withParam(field, `Unknown parameter: '${field}'.`, 'unknown_parameter'),
  Vertex: (field) => `${field}: Extra inputs are not permitted`,
  'mistral.rs': (field) =>
    `unknown field \`${field}\`, expected one of \`model\`, \`stop\`, \`stream\``,
  Bedrock: (field) => `Malformed input request: #: extraneous key [${field}] is not permitted`,
  Cohere: (field) => ({ message: `${field} is not a valid parameter for this model` }),
  Cloudflare: (field) => `request body must NOT have additional properties: ${field}`,
  Cerebras: (field) => ({ message: `${field} is not supported by this model.`, param: field }),
};

test.each(
  Object.entries(HOSTS).flatMap(([host, words]) =>
    Object.keys(FIELDS).map((field) => ({ host, words, field })),
  ),
)('$field is left out where $host does not take it, and nothing else', ({ words, field }) => {
  const made = askedBy(words(field), CHAT);
  expect(made).toEqual([`without ${field}`]);
  const { [field]: _, ...left } = ASKED[CHAT];
  expect(adjusted(ASKED[CHAT], ...made)).toEqual(left);
});

/** What is asked for in words that hosts and engines were seen to use; nothing at last. */
const WORDS: Readonly<Record<Path, Readonly<Record<string, readonly unknown[]>>>> = {
  [CHAT]: {
    'without store, without seed': [forbidden('store', 'n.x', 'seed')],
    'without store, without user': [`${unknownName('store')}\n${unknownName('user')}`],
    'without seed': ["Unsupported parameter: 'seed'. See 'user' in the manual."],
    'without reasoning_effort': ['Model grok-4 does not support parameter reasoningEffort.'],
    'without reasoning, without reasoning_effort': ['"m" does not support thinking'],
    'without user': ["Invalid 'user': string too long."],
    'without temperature': ['invalid temperature: only 1 is allowed for this model'],
    'without messages.reasoning_content': [
      forbidden('messages.2.assistant.reasoning_content'),
      '/messages/2/reasoning_content: additional property is not allowed',
      '#/messages/2: extraneous key [reasoning_content] is not permitted',
    ],
    'without messages.index': [forbidden('messages.2.assistant.tool_calls.0.index')],
    'without messages.annotations': [
      "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'annotations' is unsupported)]",
    ],
    'without messages.refusal': [
      "{'type': 'extra_forbidden', 'loc': ('body', 'messages', 2, 'refusal'), 'msg': 'Extra inputs are not permitted'}",
      // github.com/odysseus-dev/odysseus/issues/200; github.com/SimonSchubert/Kai/issues/265
      "for 'role:user' the following must be satisfied[('messages.2' : property 'refusal' is unsupported)]",
      "for 'role: user' the following must be satisfied[('messages.2' : property 'refusal' is unsupported)]",
    ],
    'without reasoning_effort="xhigh"': [
      '`reasoning_effort` must be one of `low` or `default`',
      "{'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"}",
    ],
    'without reasoning.effort="xhigh", without reasoning_effort="xhigh"': [
      'think value "none" is not supported for this model',
      'Thinking level xhigh is not supported for this model.',
    ],
    'without verbosity="low"': [
      "Unsupported value: 'verbosity' does not support 'low'. Supported values are: 'medium'.",
    ],
    'without max_tokens': [
      // Fields that are written in another way.
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    'without stream': [
      // github.com/RooCodeInc/Roo-Code/issues/6868
      withParam('stream', 'You must be verified to stream this model.', 'unsupported_value'),
      '`prompt_logprobs` are not available when `stream=True`.',
    ],
    'without stream_options': ['stream_options is no field of this model'],
    'without parallel_tool_calls': [
      "'parallel_tool_calls' is only allowed when 'tools' are specified.",
    ],
    other_effort: [
      // Rewrites. github.com/openai/codex/issues/36441
      'Function tools with reasoning_effort are not supported for gpt-5.6.',
    ],
    strict_tools: [
      // github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670
      "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
      pydantic('Input should be a valid string', 'tool_choice'),
      'json: cannot unmarshal object into Go struct field .tool_choice of type string',
      "Invalid schema for function 'a': object schema missing properties.",
      withParam('tools', 'schema must be of \'type: "object"\'', 'invalid_function_parameters'),
      "Invalid 'tools[0].function.parameters': None is not of type 'object'",
      // github.com/QwenLM/qwen-code/issues/320
      `[\n {\n "path": [\n 0,\n "function",\n "parameters",\n "type"\n ],\n "message": "Invalid discriminator value. Expected 'object'"`,
    ],
    filled_reasoning: [
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
      'The `reasoning_content` in the thinking mode must be passed back to the API.',
    ],
    call_signatures: ['Function call is missing a thought_signature in functionCall parts.'],
    sound_calls: [
      'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a maximum length of 40.",
      // github.com/noonghunna/club-3090/issues/1195; github.com/local-inference-lab/vllm/issues/684; Ollama.
      'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error',
      'Unterminated string starting at: line 1 column 7 (char 6)',
      'invalid tool call arguments',
      'messages.70.tool_calls.0.function.arguments: arguments must be a valid JSON object string',
      // github.com/itmisx/deepx-code/issues/94; github.com/sdcb/chats/pull/132; Mistral; Gemini; MiniMax; Moonshot.
      "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
      withParam('messages.[57].role', "'tool_calls' must be followed by tool messages."),
      'Not the same number of function calls and responses',
      'Please ensure that the number of function response parts is equal to that of the call parts.',
      "invalid params, tool result's tool id(call_1) not found (2013)",
      'Invalid request: tool_call_id call_1 is not found',
    ],
    alternating_turns: [
      "Unexpected role 'user' after role 'tool'",
      // github.com/suitenumerique/conversations/issues/197; github.com/ggml-org/llama.cpp/issues/19851
      'Conversation roles must alternate user/assistant/user/assistant/...',
      'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).',
    ],
    strict_turns: [
      // github.com/earendil-works/pi/issues/1048
      'messages[0]: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
      "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', and 'tool'.",
      "Invalid value: 'system'. Supported values are: 'user', and 'assistant'.",
      // github.com/openai/codex/issues/9612; github.com/openclaw/openclaw/issues/23115; github.com/0xku/kon/issues/5
      { error: { code: '1214', message: 'Incorrect role information' } },
      { error: { code: '1214', message: '角色信息不正确' } },
      'While executing CallExpression at line 189:\n^\nError: Jinja Exception: Unexpected message role.',
      // github.com/fruitbars/simple-one-api/issues/38
      'Please use a valid role: user, model.',
      'Only one system message is allowed',
      "the message at position 1 with role 'assistant' must not be empty",
      'Each message must have at least one content element.',
      "[] is too short - 'messages.0.content'",
    ],
    without_thoughts: [
      withParam(
        'messages[0].content[0].type',
        "Invalid value: 'thinking'. Supported values are: 'text'.",
        'invalid_value',
      ),
      'unsupported content[].type',
      'messages[0]: unknown variant `thinking`, expected `text`',
    ],
    at_most_15309: [
      // Limits. github.com/farion1231/cc-switch/issues/1022; github.com/musistudio/claude-code-router/issues/895
      "'max_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 17459 input tokens.",
    ],
    at_most_8072: [
      "This model's maximum context length is 131072 tokens. However, you requested 155000 tokens (123000 in the messages, 32000 in the completion).",
    ],
    at_most_8192: [
      // github.com/mnfst/llm-gateway/issues/1177
      'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
    ],
    at_most_16384: [
      'max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.',
    ],
    at_most_4096: [
      'max_tokens is too large: 100000. This model supports at most 4096.',
      pydantic('Input should be less than or equal to 4096', 'max_tokens'),
      "Invalid 'max_tokens': integer above maximum value. Expected a value <= 4096, but got 32000 instead.",
    ],
    nothing: [
      "This model's maximum context length is 32768 tokens and your request has 32000 input tokens",
      withParam(
        'temperature',
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2.",
        'decimal_above_max_value',
      ),
      'temperature: Input should be less than or equal to 1',
      'Invalid stop: at most 4 sequences are supported, unknown stop',
      "Unsupported parameter: 'tools' is not supported with this model.",
      "'response_format' is not supported",
      'messages[5].content[1].image_url is not supported',
      'messages[5].content[0].video: unknown field',
      forbidden('messages.2.tool_calls'),
      // github.com/openai/openai-node/issues/1030
      "Image URLs are only allowed for messages with role 'user', but this has role 'assistant'.",
      withParam('messages[2].role', "Invalid value: 'function'. Supported values are: 'user'."),
    ],
  },
  [MESSAGES]: {
    'without top_p': [
      // github.com/anomalyco/opencode/issues/28930
      '`temperature` and `top_p` cannot both be specified.',
    ],
    'without reasoning.effort, without reasoning_effort, without output_config.effort': [
      'This model does not support the effort parameter.',
    ],
    'without output_config.effort': [`Unknown name "effort" at 'output_config'`],
    'without tools.scope': ['tools.0.custom.cache_control.scope: Extra inputs are not permitted'],
    'without tools.eager_input_streaming': [
      'tools.0.custom.eager_input_streaming: Extra inputs are not permitted',
    ],
    'without output_config.effort="max"': [
      "output_config.effort: Input should be 'low', 'medium' or 'high'",
    ],
    'without reasoning, without reasoning_effort, without thinking': [
      // github.com/anthropics/claude-code/issues/2245, #29531, #89633; strands-agents/harness-sdk/issues/1856
      "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported.",
    ],
    'without thinking': [
      'adaptive thinking is not supported on this model',
      "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    ],
    sound_calls: [
      "messages.3.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
      'messages.5.content.0: `tool_use` ids must be unique',
      // github.com/letta-ai/letta/issues/3308; github.com/posit-dev/positron/issues/15719; Bedrock.
      'messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: a.',
      'unexpected `tool_use_id` found in `tool_result` blocks: b.',
      'each tool_use must have a single result. Found multiple `tool_result` blocks with id: b',
      'Expected toolResult blocks at messages.2.content for the following Ids: a',
    ],
    strict_tools: [
      // github.com/langchain-ai/langchain/issues/39271
      'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    ],
    strict_turns: [
      'Assistant message must have either content or tool_calls, but not none.',
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
      "Invalid value for 'content': expected a string, got null.",
      'invalid message content type: <nil>',
      'Invalid assistant message: content or tool_calls must be set',
      "Invalid 'messages[1].tool_calls': empty array.",
      // github.com/dirge-code/dirge/issues/757; github.com/HKUDS/nanobot/issues/949
      'messages: text content blocks must be non-empty',
      // github.com/earendil-works/pi/pull/3443; github.com/OpenHands/OpenHands/issues/5339
      'The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content field.',
      'The text field in the ContentBlock object at messages.1.content.0 is blank.',
      'System message must be at the beginning.',
      // github.com/ogx-ai/ogx/issues/5982; github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1399
      pydantic("Input should be 'user' or 'assistant'", 'messages.1.role'),
      // platform.claude.com/docs/en/api/errors: models before those that take notes.
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.',
    ],
    without_thoughts: [
      // github.com/Wei-Shaw/sub2api/issues/996; github.com/anthropics/claude-code/issues/63418
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      'messages.1.content.0.thinking: each thinking block must contain thinking',
      'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    ],
    at_most_8192: [
      'max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens',
      'The maximum tokens you requested exceeds the model limit of 8192.',
    ],
    at_most_11760: ['input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000'],
    nothing: [
      withParam('stream', "Unsupported parameter: 'stream'"),
      withParam('messages[2].content[0].thinking', 'Invalid value.', 'unsupported_value'),
    ],
  },
  [RESPONSES]: {
    'without reasoning.effort': [
      // What stands inside. github.com/openai/codex/issues/36735
      withParam('reasoning.effort', "Unsupported parameter: 'reasoning.effort'."),
    ],
    'without reasoning.summary': [
      // github.com/continuedev/continue/issues/12031
      withParam('reasoning.summary', 'You must be verified for summaries.', 'unsupported_value'),
    ],
    'without text.verbosity': [
      withParam('text.verbosity', "Unknown parameter: 'text.verbosity'."),
      '#/text: extraneous key [verbosity] is not permitted',
    ],
    'without input.status': ["Unknown parameter: 'input[1].status'."],
    'without reasoning.effort="xhigh"': [
      // A value alone. github.com/openai/codex/issues/6647
      withParam(
        'reasoning.effort',
        "Unsupported value: 'none'. Supported values are: 'low', 'medium', and 'high'.",
        'unsupported_value',
      ),
    ],
    sound_calls: [
      withParam(
        'input[2].call_id',
        "Invalid 'input[2].call_id': string too long.",
        'string_above_max_length',
      ),
      'No tool output found for function call cc.',
    ],
    without_thoughts: [
      withParam(
        '',
        'The encrypted content gAAA... could not be verified.',
        'invalid_encrypted_content',
      ),
      'Encrypted content is not supported.',
      "item['content'] is not an array",
      "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
      "Invalid 'input[1].id': 'x'. Expected an ID that begins with 'msg'.",
      "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
    ],
    at_least_16: [
      // github.com/farion1231/cc-switch/issues/7103
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
      'max_output_tokens must be at least 16',
    ],
    nothing: ["Unsupported parameter: 'tools' is not supported with this model."],
  },
};

test.each(
  Object.entries(WORDS).flatMap(([path, asks]) =>
    Object.entries(asks).flatMap(([changes, all]) =>
      all.map((says) => ({ path: path as Path, says, changes, words: JSON.stringify(says) })),
    ),
  ),
)('a refusal asks for $changes, once: $words', ({ path, says, changes }) => {
  const made = changes === 'nothing' ? [] : (changes.split(', ') as Adjustment[]);
  expect(askedBy(says, path)).toEqual(made);
  const again = askedBy(says, path, { made });
  expect(again.filter((each) => made.includes(each))).toEqual([]);
});
