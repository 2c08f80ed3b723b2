import { typed } from '../../support/protocols.ts';
import { CALL_BLOCK, MESSAGE_START, messageEnd, part, piece } from '../speech.ts';
import type { Listed } from '../system.ts';

/** What stands between hosts and their callers. */
export const PROXIES: readonly Listed[] = [
  {
    // github.com/agentgateway/agentgateway/issues/873.
    name: 'a company proxy',
    manner: { coding: 'gzip' },
  },
  {
    // github.com/ChatGPTNextWeb/NextChat/issues/3215.
    name: 'the edge of OpenAI',
    manner: { coding: 'br' },
  },
  {
    // github.com/BerriAI/liteLLM-proxy/issues/19; github.com/danny-avila/LibreChat/issues/5563; github.com/Bike4Mind/bike4mind/issues/1089.
    name: 'a Bedrock proxy',
    manner: {
      unfinished: 'absent',
      usage: 'none',
      finish: { content_filter: 'guardrail_intervened' },
      behind: [{ 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1 } }],
    },
  },
  {
    // github.com/BerriAI/litellm/issues/12481 and /12862.
    name: 'a LiteLLM proxy',
    manner: { unfinished: 'absent', finish: { stop: 'end_turn', tool_calls: 'stop' } },
    oddities: [
      {
        // github.com/BerriAI/litellm/issues/20480
        says: 'each call once more when it is whole',
        stream: [
          part({ tool_calls: [piece(0, 'a', '{"n":', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '1}', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, 'a', '"{\\"n\\":1}"', { id: 'call_1' })] }),
          part({}, 'tool_calls'),
        ],
        fate: { calls: [{ name: 'a', arguments: { n: 1 } }], finish: 'tool_calls' },
      },
      {
        // github.com/BerriAI/litellm/issues/32478 and /37273
        says: 'the start of a message and the end of a block twice',
        native: 'messages',
        stream: [
          MESSAGE_START,
          MESSAGE_START,
          ...CALL_BLOCK,
          typed('content_block_stop', { index: 0 }),
          ...messageEnd('tool_use'),
        ],
        fate: { calls: [{ name: 'a', arguments: { n: 1 } }], finish: 'tool_calls' },
      },
    ],
  },
  {
    // github.com/openai/openai-python/issues/498; github.com/lidge-jun/opencodex/issues/1188.
    name: 'a Spring proxy',
    manner: { blank: '', named: 'id: 1\nretry: 3000\n', life: 'data:\n\n' },
  },
  {
    // github.com/CommandCodeAI/command-code/issues/785.
    name: 'CommandCode',
    // github.com/NousResearch/hermes-agent/pull/65643, of a host without a name.
    failures: [
      {
        event: {
          choices: null,
          error_type: 'BadRequestError',
          error_message: "This model's maximum context length is 4096 tokens",
        },
        means: 'context_length',
      },
    ],
    oddities: [
      {
        says: 'half of a call’s arguments',
        stream: [
          part({ tool_calls: [piece(0, 'write', '', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '{"text":"Pre')] }),
        ],
        isOpen: true,
        fate: { broken: '' },
      },
    ],
  },
  {
    // github.com/songquanpeng/one-api/issues/128.
    name: 'one-api',
    manner: { role: 'each' },
    lists: {
      body: {
        object: 'list',
        data: [{ id: 'm', permission: { id: 'x' }, root: 'm', parent: null }],
      },
      model: { id: 'm' },
    },
  },
  {
    // github.com/open-webui/open-webui/issues/16377.
    name: 'Open WebUI',
    manner: { role: 'each' },
    oddities: [
      {
        says: 'an end on each piece of a thought',
        stream: [
          part({ reasoning_content: 'H' }, 'stop'),
          part({ reasoning_content: 'm.' }, 'stop'),
          part({ content: 'Yes' }),
          part({}, 'stop'),
        ],
        fate: { reasoning: 'Hm.', text: 'Yes' },
      },
    ],
  },
  {
    // github.com/vercel/ai/issues/18382.
    name: 'a gateway that counts calls from one',
    manner: { calls: { index: 'from one' } },
    oddities: [
      {
        // github.com/vercel/ai/issues/14760
        says: 'a call’s name behind its arguments',
        stream: [
          part({ tool_calls: [{ index: 1, id: 'call_1', function: { arguments: '{"n":1}' } }] }),
          part({ tool_calls: [{ index: 1, function: { name: 'a' } }] }),
          part({}, 'tool_calls'),
        ],
        fate: { calls: [{ name: 'a', arguments: { n: 1 } }], finish: 'tool_calls' },
      },
      {
        // github.com/lidge-jun/opencodex/issues/361
        says: 'the arguments of a call twice',
        stream: [
          part({ tool_calls: [piece(0, 'a', '{"n":1}', { id: 'call_1' })] }),
          part({ tool_calls: [piece(0, null, '{"n":1}')] }),
          part({}, 'tool_calls'),
        ],
        fate: { calls: [{ name: 'a', arguments: { n: 1 } }], finish: 'tool_calls' },
      },
      {
        says: 'a page with a 200',
        whole: '<!DOCTYPE html><html><body>Sign in</body></html>',
        contentType: 'text/html',
        fate: { next: 'bad_response' },
      },
    ],
  },
  {
    // github.com/LibreChat-AI/agents/issues/260.
    name: 'a proxy that leaves ids of calls out',
    manner: { calls: { id: 'none' } },
  },
  {
    // The same.
    name: 'a proxy that leaves ids of calls empty',
    manner: { calls: { id: 'empty', arguments: 'whole' } },
  },
];
