import { expect, test } from 'vitest';
import { chatStream, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { heard } from '../support/resume.ts';
import { MODEL, startTier } from '../support/tier.ts';
import { machinesAt, modelsRead, startCuttingWire, startLlama } from './llama-server.ts';
import type { ModelText } from './model.ts';
import { WORDS } from './words.ts';

// Answers of a real llama.cpp that break off and are carried on by another one, with nothing set.

const TEXTS: readonly (readonly [name: string, text: ModelText])[] = [
  ['whose words follow each other in a cycle', { cycle: WORDS }],
  ['that says one word for ever', { cycle: [' ketuviku'] }],
  ['that says three words for ever', { cycle: [' row', ' your', ' boat'] }],
  [
    'that breaks its lines',
    { cycle: [...WORDS.slice(0, 2), '\n\n', ...WORDS.slice(2, 7), '\n', ' boat'] },
  ],
  [
    'that breaks its lines and whose chat template trims them',
    { cycle: [...WORDS.slice(0, 2), '\n\n', ...WORDS.slice(2, 7), '\n', ' boat'], trims: true },
  ],
];

const ASKED = { model: MODEL, max_tokens: 40, stream_options: { include_usage: true } };
const CUTS = [1, 2, 3, 8, 9, 20, 39];

test.each(TEXTS)(
  'an answer of a real engine %s is continued by one like it, and nothing is lost or doubled',
  async (_name, text) => {
    const { url: engine } = await startLlama(text);
    const wire = await startCuttingWire(engine);
    const whole = await wholeAnswer(engine);
    expect(whole.content.length).toBeGreaterThan(40);
    const hosted = await startGateway({
      HOSTED_A_BASE_URL: `${wire.url}/v1`,
      HOSTED_B_BASE_URL: `${engine}/v1`,
      FAIL_THRESHOLD: '1000',
    });
    await modelsRead(hosted);
    for (const after of CUTS) {
      wire.after = after;
      const { text: answer } = await chatStream(hosted.url, ASKED);
      expect(answer).toContain(': carried on by hosted_b\n\n');
      expect(seenIn(answer)).toEqual(whole);
    }
  },
);

test.each(TEXTS)(
  'an answer of a real engine %s is continued between two machines of the owner’s',
  async (_name, text) => {
    const { url: engine } = await startLlama(text);
    const wire = await startCuttingWire(engine);
    const whole = await wholeAnswer(engine);
    for (const after of CUTS) {
      wire.after = after;
      const tier = await startTier(machinesAt([wire.url, engine]));
      const { text: answer } = await chatStream(tier.url, ASKED);
      expect(answer).toContain(': carried on by local/');
      expect(seenIn(answer)).toEqual(whole);
    }
  },
);

async function wholeAnswer(engine: string) {
  const body = JSON.stringify({ ...HELLO, ...ASKED, stream: true });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${engine}/v1/chat/completions`, { method: 'POST', headers, body });
  return seenIn(await response.text());
}

/** What must be the same whether an answer broke off or not. */
function seenIn(answer: string) {
  const { content, reasoning, finishes, dones, usages } = heard(answer);
  const { prompt, completion, cached, total } = countsIn(usages.at(-1));
  const isCounted = cached <= prompt && prompt + completion === total;
  return { content, reasoning, prompt, completion, isCounted, finishes, dones };
}

function countsIn(usage: Readonly<Record<string, unknown>> = {}) {
  const { cached_tokens: cached } = usage['prompt_tokens_details'] as Record<string, unknown>;
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  return {
    prompt: Number(prompt),
    completion: Number(completion),
    cached: Number(cached),
    total: Number(total),
  };
}
