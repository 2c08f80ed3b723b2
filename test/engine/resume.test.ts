import { describe, expect, test } from 'vitest';
import { chatStream, HELLO } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { heard } from '../support/resume.ts';
import { MODEL, startTier, storedMachine } from '../support/tier.ts';
import { llamaServer } from './find-server.ts';
import { startCuttingWire, startLlama } from './llama-server.ts';
import type { ModelText } from './model.ts';

/*
 * Answers of a real llama.cpp that break off and are carried on by another one, with nothing set. Run where a
 * llama-server is on the path, or where SWITCHYARD_TEST_LLAMA_SERVER says; skipped elsewhere.
 */

const SYLLABLES = ['ka', 'lo', 'mi', 'nu', 'pe', 'ra', 'so', 'ti'];
/** Sixty words, none of which begins another. */
const WORDS = Array.from({ length: 60 }, (_, at) => {
  return ` ${SYLLABLES[at % 8] ?? ''}${SYLLABLES[Math.floor(at / 8)] ?? ''}x`;
});

const TEXTS: readonly (readonly [name: string, text: ModelText])[] = [
  ['whose words follow each other in a cycle', { cycle: WORDS, trims: false }],
  ['that says one word for ever', { cycle: [' ketuviku'], trims: false }],
  ['that says three words for ever', { cycle: [' row', ' your', ' boat'], trims: false }],
  [
    'that breaks its lines',
    { cycle: [...WORDS.slice(0, 2), '\n\n', ...WORDS.slice(2, 7), '\n', ' boat'], trims: false },
  ],
  [
    'that breaks its lines and whose chat template trims them',
    { cycle: [...WORDS.slice(0, 2), '\n\n', ...WORDS.slice(2, 7), '\n', ' boat'], trims: true },
  ],
];

const ASKED = { model: MODEL, max_tokens: 40 };
const USAGE = { stream_options: { include_usage: true } };
const CUTS = [1, 2, 3, 8, 9, 20, 39];

const SERVER = llamaServer();
const WHY = SERVER === null ? ' (skipped: no llama-server, see SWITCHYARD_TEST_LLAMA_SERVER)' : '';

describe.skipIf(SERVER === null)(`a real engine${WHY}`, () => {
  test.each(TEXTS)(
    '%s is carried on by its like, and nothing is lost or doubled',
    async (_name, text) => {
      const engine = await startLlama(SERVER ?? '', text);
      const wire = await startCuttingWire(engine);
      const whole = await wholeAnswer(engine);
      expect(whole.length).toBeGreaterThan(40);
      const hosted = await startGateway({
        HOSTED_A_BASE_URL: `${wire.url}/v1`,
        HOSTED_B_BASE_URL: `${engine}/v1`,
        FAIL_THRESHOLD: '1000',
      });
      for (const after of CUTS) {
        wire.after = after;
        const { text: answer } = await chatStream(hosted.url, { ...ASKED, ...USAGE });
        expect(answer).toContain(': carried on by hosted_b\n\n');
        expect(seenIn(answer)).toEqual(seamless(whole));
      }
    },
  );

  test.each(TEXTS)('%s is carried on between two machines of one’s own', async (_name, text) => {
    const engine = await startLlama(SERVER ?? '', text);
    const wire = await startCuttingWire(engine);
    const whole = await wholeAnswer(engine);
    for (const after of CUTS) {
      wire.after = after;
      const machines = [wire.url, engine].map((url, at) => {
        const id = `prv_${(at + 1).toString(16).padStart(32, '0')}`;
        return { stored: storedMachine(id, url, { verification: { ownedBy: 'llamacpp' } }) };
      });
      const tier = await startTier(machines);
      const { text: answer } = await chatStream(tier.url, { ...ASKED, ...USAGE });
      expect(answer).toContain(': carried on by local/');
      expect(seenIn(answer)).toEqual(seamless(whole));
    }
  });
});

const seamless = (content: string) => ({ content, tokens: 40, finishes: ['length'], dones: 1 });

async function wholeAnswer(engine: string): Promise<string> {
  const response = await fetch(`${engine}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...HELLO, ...ASKED, stream: true }),
  });
  return heard(await response.text()).content;
}

function seenIn(answer: string) {
  const { content, finishes, dones, usages } = heard(answer);
  return { content, tokens: usages.at(-1)?.['completion_tokens'], finishes, dones };
}
