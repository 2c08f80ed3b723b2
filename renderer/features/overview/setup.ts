import { HOSTED_IDS } from '#shared/ids.ts';
import type { UpstreamReport } from '#shared/status.ts';

/** Ways to give Switchyard something to serve from, as lines to put into the environment. */
export const SETUP_WAYS = [
  {
    title: 'An engine on this machine',
    hint: 'Ollama listens on 11434, LM Studio on 1234, llama.cpp on 8080, vLLM on 8000.',
    lines: ['SWITCHYARD_LOCAL_ENGINE_URL=http://127.0.0.1:11434'],
  },
  {
    title: 'A hosted API to fall back to',
    hint: `Up to ${HOSTED_IDS.length}, called in order: ${HOSTED_IDS.map((id) => id.toUpperCase()).join(', ')}.`,
    lines: [
      'SWITCHYARD_HOSTED_A_BASE_URL=https://api.example.com/v1',
      'SWITCHYARD_HOSTED_A_API_KEY=…',
      'SWITCHYARD_HOSTED_A_MODEL=…',
    ],
  },
] as const;

/** A first request to paste into a terminal. */
export function firstRequest(baseUrl: string, upstreams: readonly UpstreamReport[]): string {
  const model = upstreams.find(({ healthy, model: name }) => healthy && name !== '')?.model;
  const body = JSON.stringify({
    ...(model === undefined ? {} : { model }),
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
  });
  return `curl -N ${baseUrl}/chat/completions -H 'Content-Type: application/json' -d '${body}'`;
}
