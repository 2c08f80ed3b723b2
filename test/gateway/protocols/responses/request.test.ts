import { expect, test } from 'vitest';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import { call, HI, requestTests, said } from '../translation/translated.ts';

const ask = (fields: object) =>
  RESPONSES_TRANSLATION.toChat({ model: 'm', input: 'Hi', ...fields }, null);
const { conversations, settings, refusals } = requestTests('Responses', ask);

const inText = (text: string) => ({ type: 'input_text', text });
const result = (call_id: string, output: unknown) => ({
  type: 'function_call_output',
  call_id,
  output,
});
const told = (tool_call_id: string, content: string) => ({ role: 'tool', tool_call_id, content });
const called = (id: string, name: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  status: 'completed',
  call_id: id,
  name,
  arguments: '{}',
});

conversations([
  [
    // github.com/MetaFARS/codex-relay/issues/39
    'a patch of Codex, and a search, in a conversation that began at OpenAI',
    {
      input: [
        HI,
        { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
        { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
        { type: 'custom_tool_call_output', call_id: 'a', output: 'Done' },
      ],
    },
    said(
      HI,
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('a', 'apply_patch', '{"input":"*** Begin"}')],
      },
      told('a', 'Done'),
    ),
  ],
  ['empty instructions as none', { instructions: '' }, said(HI)],
  [
    'instructions and opening developer messages as one system message',
    {
      instructions: 'Be brief.',
      input: [{ role: 'developer', content: [inText('Be kind.')] }, HI],
    },
    said({ role: 'system', content: 'Be brief.\n\nBe kind.' }, HI),
  ],
  [
    'a later developer message in its place',
    { input: [HI, { role: 'developer', content: 'Now in French.' }] },
    said(HI, { role: 'system', content: 'Now in French.' }),
  ],
  [
    'reasoning, text and parallel calls of one turn as one message',
    {
      input: [
        HI,
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'Looking.', annotations: [{ type: 'url_citation' }] },
          ],
        },
        called('a', 'look'),
        called('b', 'see'),
        result('a', 'one'),
        result('b', [inText('two')]),
      ],
    },
    said(
      HI,
      {
        role: 'assistant',
        content: 'Looking.',
        reasoning_content: 'Hm',
        tool_calls: [call('a', 'look'), call('b', 'see')],
      },
      told('a', 'one'),
      told('b', 'two'),
    ),
  ],
  [
    'several texts as one string in every role, which upstreams that refuse lists take too',
    {
      input: [
        { role: 'user', content: [inText('As you answer,'), inText('look.')] },
        { role: 'assistant', content: 'Let me' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'see.' }] },
        called('a', 'look'),
        result('a', [inText('one'), inText('two')]),
      ],
    },
    said(
      { role: 'user', content: 'As you answer,\nlook.' },
      { role: 'assistant', content: 'Let me\nsee.', tool_calls: [call('a', 'look')] },
      told('a', 'one\ntwo'),
    ),
  ],
  [
    'a call without arguments as one with an empty object',
    { input: [HI, { ...called('a', 'look'), arguments: '' }] },
    said(HI, { role: 'assistant', content: null, tool_calls: [call('a', 'look')] }),
  ],
  [
    'images by URL and as base64, files as data, audio',
    {
      input: [
        {
          role: 'user',
          content: [
            inText('What is this?'),
            { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'original' },
            {
              type: 'input_file',
              filename: 'a.pdf',
              file_data: 'data:application/pdf;base64,AA==',
            },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          ],
        },
      ],
    },
    said({
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'high' } },
        {
          type: 'file',
          file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
        },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      ],
    }),
  ],
  [
    "an image of a tool's result in the user message after all results",
    {
      input: [
        called('a', 'shoot'),
        called('b', 'look'),
        result('a', [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }]),
        result('b', 'seen'),
        { role: 'user', content: 'And?' },
      ],
    },
    said(
      { role: 'assistant', content: null, tool_calls: [call('a', 'shoot'), call('b', 'look')] },
      told('a', '[The rest of the result is in the next user message.]'),
      told('b', 'seen'),
      {
        role: 'user',
        content: [
          { type: 'text', text: '[Rest of the result of tool call a:]' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          { type: 'text', text: 'And?' },
        ],
      },
    ),
  ],
]);

const tool = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true };
const chatToolOf = (fields: object = {}) => ({
  type: 'function',
  function: { name: 'look', parameters: { type: 'object' }, strict: true, ...fields },
});
const chatTool = chatToolOf();
const schema = { name: 'n', schema: { type: 'object' }, strict: true };

settings([
  ['token limit', { max_output_tokens: 50 }, { max_tokens: 50 }],
  ['sampling', { temperature: 0.5, top_p: 0.9, seed: 1 }],
  [
    'reasoning effort',
    { reasoning: { effort: 'low', summary: 'auto' } },
    { reasoning_effort: 'low' },
  ],
  ['user', { user: 'u' }],
  ['safety identifier', { safety_identifier: 's' }, { user: 's' }],
  [
    'a longer user as the digest of it, which OpenAI takes',
    { safety_identifier: 'u'.repeat(65) },
    { user: 'f20e249d15fa4b9f44ba21d154f62e1efa76ddfdce5d25139a33a4787cee5a8b' },
  ],
  ['stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
  ['verbosity', { text: { verbosity: 'low' } }, { verbosity: 'low' }],
  [
    'a schema',
    { text: { format: { type: 'json_schema', ...schema } } },
    { response_format: { type: 'json_schema', json_schema: schema } },
  ],
  ['tools', { tools: [tool] }, { tools: [chatTool] }],
  [
    'functions in a namespace',
    {
      tools: [
        {
          type: 'namespace',
          name: 'eye',
          description: 'Sees.',
          tools: [tool, { ...tool, name: 'see' }],
        },
      ],
    },
    {
      tools: [
        chatToolOf({ name: 'eye__look', description: 'Sees.' }),
        chatToolOf({ name: 'eye__see' }),
      ],
    },
  ],
  [
    'allowed tools',
    {
      tools: [tool, { ...tool, name: 'see' }],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'look' }],
      },
    },
    { tools: [chatTool], tool_choice: 'required' },
  ],
  ['a choice without tools, which means nothing', { tools: [], tool_choice: 'auto' }, {}],
  ['the name under which a host finds the prompt in its cache', { prompt_cache_key: 'k' }],
  [
    'what only concerns stored answers, caches and built-in tools, which is left out',
    {
      store: true,
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content'],
      max_tool_calls: 3,
      prompt_cache_retention: '24h',
      service_tier: 'auto',
      truncation: 'disabled',
      previous_response_id: null,
      background: false,
    },
    {},
  ],
]);

refusals([
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['prompt', { prompt: { id: 'p' } }],
  ['truncation', { truncation: 'auto' }],
  ['top_logprobs', { top_logprobs: 3 }],
  ['include[0]', { include: ['message.output_text.logprobs'] }],
  ['context_management', { context_management: [{ type: 'compaction', compact_threshold: 9 }] }],
  ['moderation', { moderation: { model: 'omni-moderation-latest' } }],
  ['generate', { generate: false }],
  ['prompt_cache_options.prewarm', { prompt_cache_options: { prewarm: true } }],
  ['tools[0].async', { tools: [{ ...tool, async: true }] }],
  ['tools', { tools: [tool, tool] }],
  [
    'tools[0].tools[0].type',
    {
      tools: [
        { type: 'namespace', name: 'n', description: '', tools: [{ type: 'custom', name: 'x' }] },
      ],
    },
  ],
  ['reasoning.mode', { reasoning: { mode: 'pro' } }],
  ['text.format.type', { text: { format: { type: 'grammar' } } }],
  ['tools[0].type', { tools: [{ type: 'web_search' }] }],
  ['tools[1].type', { tools: [tool, { type: 'file_search', vector_store_ids: ['v'] }] }],
  ['tool_choice.type', { tools: [tool], tool_choice: { type: 'mcp', server_label: 's' } }],
  ['input[0].id', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ['input[0].type', { input: [{ type: 'computer_call', id: 'cc_1', status: 'completed' }] }],
  [
    'input[0].content[0].file_id',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
  ],
  ['tools[1].type', { tools: [tool, { type: 'web_search' }], tool_choice: 'required' }],
  ['tool_choice.type', { tools: [tool], tool_choice: { type: 'web_search' } }],
  // developers.openai.com/api/reference/resources/responses: `input` is optional.
  ['prompt', { prompt: { id: 'pmpt_1' }, input: undefined }],
]);

test('a Responses request that is nested too deep to be written again is refused', () => {
  const parameters = JSON.parse('{"a":'.repeat(9000) + '1' + '}'.repeat(9000)) as object;
  const message = 'The body must not be nested so deeply.';
  const refused = { kind: 'bad_request', message, param: null };
  expect(ask({ tools: [{ ...tool, parameters }] })).toEqual(refused);
});
