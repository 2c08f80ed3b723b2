import { openAi } from '../refused.ts';
import { part, usagePart } from '../speech.ts';
import type { Listed } from '../system.ts';

/** Hosts by makers of chips. */
export const CHIPS: readonly Listed[] = [
  {
    name: 'Groq',
    manner: {
      around: { x_groq: { id: 'req_1' }, service_tier: 'on_demand' },
      reasoning: 'reasoning',
      calls: { arguments: 'whole' },
    },
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
    // github.com/farion1231/cc-switch/issues/1787.
    name: 'SambaNova',
    manner: { lineEnd: '\r' },
  },
  {
    name: 'NVIDIA NIM',
    manner: { role: 'each', beside: { reasoning_content: null } },
    oddities: [null, undefined].map((choices) => ({
      // github.com/earendil-works/pi/pull/1671 (DeepInfra); github.com/cline/cline/pull/8527
      says: `its usage, and ${choices} as choices`,
      stream: [part({ content: 'Yes' }), part({}, 'stop'), { ...usagePart(10, 5), choices }],
      fate: { text: 'Yes' },
      tokens: { input: 10, output: 5, cached: 0, estimated: false },
    })),
  },
];
