import { expect, test } from 'vitest';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../../../main/gateway/protocols/translation/translation.ts';
import { sentBody } from './translated.ts';

const HI = { role: 'user', content: 'Hi' };
const user = (content: object) => [{ role: 'user', content: [content] }];

const ASKED = { model: 'm', max_tokens: 9, messages: [HI] };
const INPUT = { model: 'm', input: [HI] };

/** What is left out of a request, and the chat body that remains. */
function translated(protocol: ProtocolTranslation, request: object) {
  const asked = protocol.toChat(request, null);
  const body = sentBody(asked);
  return asked.kind === 'chat' ? { dropped: asked.dropped, body } : { dropped: null, body };
}

const named = (...paths: string[]) => ({ named: paths, others: 0 });

type Row = [path: string, fields: object, without?: object];

/** Each path with the request that has it, and the same without. */
function leavesOut(protocol: ProtocolTranslation, whole: object, rows: Row[]): void {
  test.each<Row>(rows)(
    'a field that chat completions lack is left out and named: %s',
    (path, fields, without = {}) => {
      const { dropped, body } = translated(protocol, { ...whole, ...fields });
      expect(dropped).toEqual(named(path));
      expect(body).toEqual(translated(protocol, { ...whole, ...without }).body);
    },
  );
}

const tool = { name: 'look', input_schema: { type: 'object' } };
const advisor = { type: 'advisor_20260301', name: 'advisor', model: 'm' };
const schema = { type: 'json_schema', schema: { type: 'object' } };

leavesOut(MESSAGES_TRANSLATION, ASKED, [
  ['inference_geo', { inference_geo: 'eu' }],
  ['fallbacks', { fallbacks: [] }],
  ['foo', { foo: true }],
  ['thread', { thread: { type: 'create' } }],
  ['metadata.team', { metadata: { team: 'x' } }],
  ['output_config.task_budget', { output_config: { task_budget: { total: 1 } } }],
  ['output_config.effort', { output_config: { effort: 'beyond' } }],
  [
    'output_config.format.name',
    { output_config: { format: { ...schema, name: 'n' } } },
    { output_config: { format: schema } },
  ],
  ['thinking.block_binding', { thinking: { type: 'adaptive', block_binding: {} } }],
  ['tools[0].new_field', { tools: [{ ...tool, new_field: 1 }] }, { tools: [tool] }],
  [
    'tool_choice.new_field',
    { tools: [tool], tool_choice: { type: 'any', new_field: 1 } },
    { tools: [tool], tool_choice: { type: 'any' } },
  ],
  ['messages[0].new_field', { messages: [{ ...HI, new_field: 1 }] }],
  [
    'messages[0].content[0].new_field',
    { messages: user({ type: 'text', text: 'Hi', new_field: 1 }) },
  ],
  [
    'messages[1].output_config',
    { messages: [HI, { role: 'system', output_config: { effort: 'low' } }] },
  ],
  [
    'messages[1].content[0].type=tool_removal',
    {
      messages: [
        HI,
        {
          role: 'system',
          content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'look' } }],
        },
      ],
    },
  ],
  // With it Claude Code asks a second model (SaladDay/cc-switch-cli#468).
  ['tools[1].type=advisor_20260301', { tools: [tool, advisor] }, { tools: [tool] }],
]);

const look = { type: 'function', name: 'look', parameters: { type: 'object' } };
const image = { type: 'input_image', image_url: 'https://x.test/a.png' };

leavesOut(RESPONSES_TRANSLATION, INPUT, [
  [
    'input[1].type=web_search_call',
    { input: [HI, { type: 'web_search_call', action: { type: 'search', query: 'x' } }] },
  ],
  ['new_field', { new_field: 1 }],
  ['access_programs', { access_programs: { cyber: 'standard' } }],
  ['service_tier', { service_tier: 'flex' }],
  ['reasoning.new_field', { reasoning: { new_field: 1 } }],
  ['reasoning.effort', { reasoning: { effort: 'beyond' } }],
  ['reasoning.mode', { reasoning: { mode: 'newest' } }],
  ['text.new_field', { text: { new_field: 1 } }],
  ['text.verbosity', { text: { verbosity: 'silent' } }],
  ['text.format.new_field', { text: { format: { type: 'text', new_field: 1 } } }],
  ['tools[0].output_schema', { tools: [{ ...look, output_schema: {} }] }, { tools: [look] }],
  [
    'tool_choice.new_field',
    { tools: [look], tool_choice: { type: 'function', name: 'look', new_field: 1 } },
    { tools: [look], tool_choice: { type: 'function', name: 'look' } },
  ],
  ['input[0].new_field', { input: [{ ...HI, new_field: 1 }] }],
  [
    'input[0].content[0].new_field',
    { input: user({ type: 'input_text', text: 'Hi', new_field: 1 }) },
  ],
  [
    'input[0].content[0].detail',
    { input: user({ ...image, detail: 'newest' }) },
    { input: user(image) },
  ],
]);

test('the first twenty dropped fields are named and the others are counted', () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`new_${n}`, 1]));
  const dropped = translated(MESSAGES_TRANSLATION, { ...ASKED, ...many }).dropped;
  expect(dropped).toMatchObject({ named: { length: 20 }, others: 10 });
});

/** What 2.1.330 sent, shortened, after it had looked for a tool. */
const CLAUDE_CODE = {
  model: 'claude-opus-5',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>' },
        { type: 'text', text: 'Hi' },
      ],
    },
    { role: 'system', content: '# Environment' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: { query: 'WebFetch' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'WebFetch' }],
        },
        { type: 'text', text: 'Tool loaded.' },
      ],
    },
    {
      role: 'system',
      content: [{ type: 'text', text: '<total_tokens>', cache_control: { type: 'ephemeral' } }],
    },
  ],
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.330' },
    { type: 'text', text: 'You are a Claude agent.', cache_control: { type: 'ephemeral' } },
  ],
  tools: [
    { name: 'ToolSearch', description: 'Finds tools.', input_schema: { type: 'object' } },
    { name: 'WebFetch', input_schema: { type: 'object' }, defer_loading: true },
  ],
  metadata: { user_id: '{"device_id":"…","account_uuid":"","session_id":"…"}' },
  max_tokens: 32_000,
  thinking: { type: 'adaptive', display: 'omitted' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'high' },
  stream: true,
};

test('a request of Claude Code has no field that is refused or unknown', () => {
  expect(translated(MESSAGES_TRANSLATION, CLAUDE_CODE).dropped).toEqual(named());
});

/** What 0.169.0 sent, shortened. */
const CODEX = {
  model: 'm',
  instructions: 'You are Codex.',
  input: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'developer',
      content: [{ type: 'input_text', text: '<permissions instructions>' }],
    },
    {
      type: 'message',
      id: 'msg_2',
      role: 'user',
      content: [{ type: 'input_text', text: 'say hi' }],
    },
  ],
  tools: [
    { ...look, name: 'exec_command', description: 'Runs.', strict: false },
    { type: 'namespace', name: 'multi_agent_v1', description: '', tools: [look] },
    { type: 'web_search', external_web_access: false },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'k',
  client_metadata: { session_id: 's' },
};

test('a request of Codex for a model unknown to it loses only the tools that it works without, which are named', () => {
  const { dropped, body } = translated(RESPONSES_TRANSLATION, CODEX);
  expect(dropped).toEqual(named('tools[2].type=web_search'));
  expect(body['tools']).toMatchObject([
    { function: { name: 'exec_command' } },
    { function: { name: 'multi_agent_v1__look' } },
  ]);
});
