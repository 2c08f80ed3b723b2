import type { Protocol } from './caller.ts';
import type { Json } from './system.ts';

/** As servers of tools write it. */
const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { a: { type: 'string' } },
  additionalProperties: false,
};
const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' };
const weather = { name: 'weather', parameters: schema };
/** How a search for tools answers. */
const found = { type: 'tool_reference', tool_name: 'weather' };
const called = { name: 'weather', arguments: '{}' };

/** Members and places in lists, from the outside in. */
export type Path = readonly (string | number)[];

interface Agent {
  readonly protocol: Protocol;
  readonly asks: Json;
  /** What hosts of its own protocol do not all take, and it can do without. */
  readonly spare?: readonly Path[];
}

/** Requests as agents send them in the middle of their work, such as Claude Code 2.1.330 and Codex 0.169.0. */
export const AGENTS: Readonly<Record<'Claude Code' | 'Codex' | 'Cline' | 'OpenCode', Agent>> = {
  'Claude Code': {
    protocol: 'messages',
    asks: {
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'Be good.', cache_control }],
      tools: [
        {
          name: 'weather',
          description: 'w',
          input_schema: schema,
          eager_input_streaming: true,
          defer_loading: true,
          cache_control,
        },
      ],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: 'u'.repeat(150) },
      temperature: 1,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'tool_use', id: 't1', name: 'weather', input: {}, caller: { type: 'direct' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't1', content: [found], cache_control }],
        },
        { role: 'system', content: 'The file has changed.' },
      ],
    },
    spare: [
      ['thinking'],
      ['thinking', 'display'],
      ['output_config'],
      ['context_management'],
      ['metadata'],
      ['tools', 0, 'eager_input_streaming'],
      ['tools', 0, 'defer_loading'],
      ['tools', 0, 'cache_control', 'scope'],
      ['tools', 0, 'input_schema', 'additionalProperties'],
      ['tools', 0, 'input_schema', '$schema'],
      ['system', 0, 'cache_control', 'ttl'],
      ['messages', 0, 'content', 0, 'cache_control'],
      ['messages', 1, 'content', 1, 'caller'],
    ],
  },
  Codex: {
    protocol: 'responses',
    asks: {
      instructions: 'Be good.',
      tools: [
        { type: 'function', ...weather, strict: false },
        {
          type: 'namespace',
          name: 'agents',
          description: '',
          tools: [{ type: 'function', ...weather }],
        },
        { type: 'web_search', external_web_access: false },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      service_tier: 'auto',
      client_metadata: { a: 'b' },
      input: [
        { role: 'developer', content: 'Be brief.' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'user',
          content: [{ type: 'input_text', text: 'hi' }],
          status: 'completed',
          phase: 'commentary',
        },
        { type: 'function_call', call_id: 'call_1', ...called },
        { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
      ],
    },
    spare: [
      ['tools', 0, 'strict'],
      ['tools', 0, 'parameters', 'additionalProperties'],
      ['reasoning', 'summary'],
      ['reasoning'],
      ['store'],
      ['include'],
      ['prompt_cache_key'],
      ['text', 'verbosity'],
      ['client_metadata'],
      ['input', 1, 'status'],
      ['input', 1, 'phase'],
    ],
  },
  Cline: {
    protocol: 'chat',
    asks: {
      temperature: 0,
      max_completion_tokens: 8192,
      reasoning_effort: 'low',
      messages: [
        { role: 'developer', content: 'Be good.' },
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'hi?' },
      ],
    },
  },
  OpenCode: {
    protocol: 'chat',
    asks: {
      max_tokens: 32_000,
      tools: [{ type: 'function', function: { ...weather, strict: true } }],
      tool_choice: 'auto',
      prompt_cache_key: 'k',
      store: false,
      top_p: 1,
      messages: [
        { role: 'system', content: 'Be good.' },
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          refusal: null,
          annotations: [],
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: called, extra_content: {} },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      ],
    },
    spare: [
      ['tools', 0, 'function', 'strict'],
      ['tools', 0, 'function', 'parameters', 'additionalProperties'],
      ['store'],
      ['stream_options'],
      ['messages', 1, 'content', 0, 'cache_control'],
      ['messages', 2, 'reasoning_content'],
      ['messages', 2, 'refusal'],
      ['messages', 2, 'annotations'],
      ['messages', 2, 'tool_calls', 0, 'index'],
      ['messages', 2, 'tool_calls', 0, 'extra_content'],
    ],
  },
};
