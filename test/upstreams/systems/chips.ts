import { openAi, refused } from '../refused.ts';
import type { System } from '../system.ts';

/** Hosts by makers of chips. */
export const CHIPS: readonly System[] = [
  {
    name: 'Groq',
    place: 'hosted_a',
    manner: {
      around: { x_groq: { id: 'req_1' }, service_tier: 'on_demand' },
      reasoning: 'reasoning',
      calls: { arguments: 'whole' },
    },
    refusals: [
      refused(
        'rate_limited',
        429,
        openAi(
          'Rate limit reached for model `m`. Please try again in 2m59.56s.',
          'rate_limit_exceeded',
          'tokens',
        ),
        {
          headers: { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '2m59.56s' },
          waitMs: 179_560,
        },
      ),
      refused(
        'context_length',
        400,
        openAi(
          'Please reduce the length of the messages or completion.',
          'context_length_exceeded',
        ),
      ),
    ],
    failures: [
      {
        event: openAi('Failed to call a function.', 'tool_use_failed'),
        means: 'unsupported_feature',
      },
    ],
    lists: {
      body: {
        object: 'list',
        data: [{ id: 'm', owned_by: 'Meta', active: true, context_window: 4096 }],
      },
      model: { id: 'm', owner: 'Meta', context_length: 4096 },
    },
  },
  {
    name: 'Cerebras',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', unfinished: 'absent', usage: 'with the end' },
    refusals: [
      // github.com/badlogic/pi-mono, packages/ai, overflow.ts: no body at all.
      refused('request_too_large', 413, ''),
    ],
  },
  {
    // github.com/farion1231/cc-switch/issues/1787.
    name: 'SambaNova',
    place: 'hosted_a',
    manner: { lineEnd: '\r' },
  },
  {
    name: 'NVIDIA NIM',
    place: 'hosted_a',
    manner: { role: 'each', beside: { reasoning_content: null } },
    refusals: [
      // github.com/BerriAI/litellm/issues/4558: no stream, whatever it begins with.
      refused(
        'unsupported_feature',
        500,
        'data: {"type":"about:blank","status":500,"title":"Internal Server Error","detail":"System role not supported"}',
      ),
    ],
  },
];
