import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { call, HI, requestTests, said } from '../translation/translated.ts';

const whole = (fields: object) => ({ model: 'm', max_tokens: 9, messages: [HI], ...fields });
const ask = (fields: object) => MESSAGES_TRANSLATION.toChat(whole(fields), null);

const { conversations, settings, refusals } = requestTests('Messages', ask);

const inUser = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const text = (words: string) => ({ type: 'text', text: words });
const addition = (name: string) => ({
  type: 'tool_addition',
  tool: { type: 'tool_reference', name },
});
const cached = { cache_control: { type: 'ephemeral' } };

conversations([
  [
    'system blocks as one message, their cache control left out',
    { system: [{ ...text('Be brief.'), ...cached }, text('Be kind.')] },
    said({ role: 'system', content: 'Be brief.\n\nBe kind.' }, HI),
  ],
  [
    'a later system message in its place',
    { messages: [HI, { role: 'system', content: 'Now in French.' }] },
    said(HI, { role: 'system', content: 'Now in French.' }),
  ],
  [
    'thinking, text and parallel calls as one message, and their results',
    {
      messages: [
        HI,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'redacted_thinking', data: 'xyz' },
            text('Looking.'),
            { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
            { type: 'tool_use', id: 'b', name: 'see', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'one', ...cached },
            { type: 'tool_result', tool_use_id: 'b', content: [text('No.')], is_error: true },
            { ...text('And?'), ...cached },
          ],
        },
      ],
    },
    said(
      HI,
      {
        role: 'assistant',
        content: 'Looking.',
        reasoning_content: 'Hm',
        tool_calls: [call('a', 'look', '{"at":1}'), call('b', 'see', '{}')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: No.' },
      { role: 'user', content: 'And?' },
    ),
  ],
  [
    'images by URL and as base64, documents and search results',
    inUser(
      { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
      {
        type: 'document',
        title: 'T',
        context: 'C',
        source: { type: 'text', media_type: 'text/plain', data: 'D' },
      },
      {
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
      },
      {
        type: 'search_result',
        title: 'S',
        source: 'https://x.test',
        content: [text('found')],
      },
    ),
    said({
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        text('T\nC'),
        text('D'),
        text('a.pdf'),
        {
          type: 'file',
          file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
        },
        text('S\nhttps://x.test\nfound'),
      ],
    }),
  ],
  [
    'the tools that a search found as text',
    inUser({
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'tool_reference', tool_name: 'look' }],
    }),
    said({ role: 'tool', tool_call_id: 'a', content: 'Tool found: look' }),
  ],
  // Claude Code adds tools in this way (juspay/neurolink#1717).
  [
    'the text of a system message without the tools that it adds, which are offered from the start',
    {
      messages: [
        HI,
        { role: 'system', content: [addition('look'), text('More tools.')] },
        { role: 'user', content: 'And?' },
        { role: 'system', content: [addition('see')] },
      ],
    },
    said(HI, { role: 'system', content: 'More tools.' }, { role: 'user', content: 'And?' }),
  ],
]);

const tool = { name: 'look', input_schema: { type: 'object' }, description: 'Looks.' };
const chatToolOf = (description: string) => ({
  type: 'function',
  function: { name: 'look', description, parameters: { type: 'object' } },
});
const chatTool = chatToolOf('Looks.');
const thinkingOf = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });

const schemaFormat = { type: 'json_schema', schema: { type: 'object' } };
const sent = {
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
  },
};

settings([
  ['token limit', { max_tokens: 50 }],
  ['sampling', { temperature: 0.5, top_p: 0.9, top_k: 5 }],
  ['stop sequences', { stop_sequences: ['END'] }, { stop: ['END'] }],
  ['the user', { metadata: { user_id: 'u'.repeat(64) } }, { user: 'u'.repeat(64) }],
  ['stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
  ['no thinking', { thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
  ['thinking as the model likes', { thinking: { type: 'adaptive' } }, {}],
  ['a large budget', { thinking: thinkingOf(32_000) }, { reasoning_effort: 'high' }],
  [
    'an effort rather than a budget',
    { output_config: { effort: 'max' }, thinking: thinkingOf(1024) },
    { reasoning_effort: 'max' },
  ],
  ['a schema', { output_config: { format: schemaFormat } }, sent],
  ['a schema under the name of earlier versions', { output_format: schemaFormat }, sent],
  ['tools', { tools: [{ ...tool, ...cached }] }, { tools: [chatTool] }],
  [
    'examples of input in the description',
    { tools: [{ ...tool, input_examples: [{ at: 1 }, { at: 2 }] }] },
    { tools: [chatToolOf('Looks.\nExamples of input:\n{"at":1}\n{"at":2}')] },
  ],
  [
    'any tool',
    { tools: [tool], tool_choice: { type: 'any' } },
    { tools: [chatTool], tool_choice: 'required' },
  ],
  [
    'a chosen tool, one call at a time',
    { tools: [tool], tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true } },
    {
      tools: [chatTool],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
    },
  ],
  [
    "what only concerns Anthropic's own caches, tiers and accounts, which is left out",
    {
      ...cached,
      service_tier: 'auto',
      speed: 'standard',
      workspace_id: 'w',
      context_management: { edits: [] },
    },
    {},
  ],
]);

refusals([
  ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['tools[1].type', { tools: [tool, { type: 'bash_20250124', name: 'bash' }] }],
  ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://x.test', name: 'x' }] }],
  ['container', { container: 'c' }],
  ['messages[1].role', { messages: [HI, { role: 'assistant', content: '{' }] }],
  ['compaction', { compaction: { type: 'summarize' } }],
  ['thread.type', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
  [
    'tools[1].type',
    {
      tools: [tool, { type: 'advisor_20260301', name: 'advisor', model: 'm' }],
      tool_choice: { type: 'tool', name: 'advisor' },
    },
  ],
  ['thinking.type', { thinking: { type: 'between_tools' } }],
  [
    'messages[0].content[0].source.type',
    inUser({ type: 'image', source: { type: 'file', file_id: 'f' } }),
  ],
  [
    'messages[0].content[0].source.type',
    inUser({ type: 'document', source: { type: 'url', url: 'https://x.test' } }),
  ],
  [
    'messages[0].content[0].citations.enabled',
    inUser({ type: 'document', source: { type: 'text', data: 'D' }, citations: { enabled: true } }),
  ],
  ['messages[0].content[0].type', inUser({ type: 'container_upload', file_id: 'f' })],
  [
    'messages[1].content[0].type',
    { messages: [HI, { role: 'system', content: [{ type: 'some_new_block' }] }] },
  ],
]);
