import type { System } from '../system.ts';

/** Hosts of models by others. */
export const HOSTS: readonly System[] = [
  {
    name: 'Groq',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', calls: { arguments: 'whole' } },
  },
  {
    // openrouter.ai/docs, Streaming.
    name: 'OpenRouter',
    place: 'hosted_a',
    manner: {
      role: 'each',
      reasoning: 'reasoning',
      life: ': OPENROUTER PROCESSING\n\n',
      usage: 'end again',
    },
  },
  {
    // Portkey-AI/gateway, finishReasonMap.ts.
    name: 'Together',
    place: 'hosted_a',
    manner: { role: 'each', finish: { stop: 'eos' }, beside: { tool_calls: [] } },
  },
  { name: 'Fireworks', place: 'hosted_a', manner: { usage: 'with the end' } },
  {
    name: 'Cerebras',
    place: 'hosted_a',
    manner: { reasoning: 'reasoning', unfinished: 'absent', usage: 'with the end' },
  },
  {
    name: 'NVIDIA NIM',
    place: 'hosted_a',
    manner: { role: 'each', beside: { reasoning_content: null } },
  },
  {
    // github.com/cloudflare/ai/issues/192; github.com/decolua/9router/issues/1645.
    name: 'Cloudflare Workers AI',
    place: 'hosted_a',
    manner: { finish: { tool_calls: 'stop' }, finishAt: 'twice', end: 'twice' },
  },
  {
    // github.com/farion1231/cc-switch/issues/1787.
    name: 'SambaNova',
    place: 'hosted_a',
    manner: { lineEnd: '\r' },
  },
  {
    // github.com/badlogic/pi-mono, packages/ai, openai-completions.ts.
    name: 'Chutes',
    place: 'hosted_a',
    manner: { reasoning: 'both' },
  },
  {
    // github.com/aaif-goose/goose/issues/7929.
    name: 'LongCat',
    place: 'hosted_a',
    manner: { blank: '', role: 'each' },
  },
  {
    // github.com/BerriAI/liteLLM-proxy/issues/19; github.com/danny-avila/LibreChat/issues/5563; github.com/Bike4Mind/bike4mind/issues/1089.
    name: 'a Bedrock proxy',
    place: 'hosted_a',
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
    place: 'hosted_a',
    manner: { unfinished: 'absent', finish: { stop: 'end_turn', tool_calls: 'stop' } },
  },
  {
    // github.com/openai/openai-python/issues/498; github.com/lidge-jun/opencodex/issues/1188.
    name: 'a Spring proxy',
    place: 'hosted_a',
    manner: { blank: '', named: 'id: 1\nretry: 3000\n', life: 'data:\n\n' },
  },
  {
    // github.com/vercel/ai/issues/18382.
    name: 'a gateway that counts calls from one',
    place: 'hosted_a',
    manner: { calls: { index: 'from one' } },
  },
  {
    // github.com/LibreChat-AI/agents/issues/260.
    name: 'a proxy that leaves ids of calls out',
    place: 'hosted_a',
    manner: { calls: { id: 'none' } },
  },
  {
    // The same.
    name: 'a proxy that leaves ids of calls empty',
    place: 'hosted_a',
    manner: { calls: { id: 'empty', arguments: 'whole' } },
  },
];
