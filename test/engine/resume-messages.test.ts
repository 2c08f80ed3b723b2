import { describe, expect, test } from 'vitest';
import { startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { heardMessage } from '../support/heard-message.ts';
import { MODEL, startTier, storedMachine } from '../support/tier.ts';
import { llamaServer } from './find-server.ts';
import { modelsRead, startCuttingWire, startLlama } from './llama-server.ts';
import type { ModelText } from './model.ts';
import { WORDS } from './words.ts';

/*
 * Messages of a real llama.cpp that break off and are carried on by another one. Run where a llama-server is on the
 * path, or where INGLENOOK_TEST_LLAMA_SERVER says; skipped elsewhere.
 */

const SERVER = llamaServer();
const WHY = SERVER === null ? ' (skipped: no llama-server, see INGLENOOK_TEST_LLAMA_SERVER)' : '';

const PLAIN: ModelText = { cycle: WORDS, trims: true };
const THINKING: ModelText = { cycle: WORDS.slice(10), thought: WORDS.slice(0, 10), trims: false };

const ASKED = { model: MODEL, max_tokens: 40, messages: [{ role: 'user', content: 'hi' }] };

const ask = (url: string) => startCall(`${url}/v1/messages`, { ...ASKED, stream: true }).answer;

/** A gateway before a wire to the engine, and the engine itself after it. */
async function startResuming(text: ModelText, settings: Readonly<Record<string, string>> = {}) {
  const engine = await startLlama(SERVER ?? '', text);
  const wire = await startCuttingWire(engine);
  const gateway = await startGateway({
    HOSTED_A_BASE_URL: `${wire.url}/v1`,
    HOSTED_B_BASE_URL: `${engine}/v1`,
    FAIL_THRESHOLD: '1000',
    ...settings,
  });
  await modelsRead(gateway);
  return { engine, wire, gateway };
}

/** What must be the same whether an answer broke off or not. */
function seenIn(answer: string) {
  const { starts, stops, blocks, reasons, usage } = heardMessage(answer);
  const said = blocks.map(({ type, text, thinking }) => [type, text ?? thinking]);
  const prompt = Number(usage['input_tokens']) + Number(usage['cache_read_input_tokens']);
  return { starts, stops, said, reasons, prompt, output: usage['output_tokens'] };
}

const WAYS = [
  ['begun as a message', {}],
  ['begun as a chat completion', { HOSTED_A_PROTOCOLS: 'chat' }],
] as const;

describe.skipIf(SERVER === null)(`a message of a real engine${WHY}`, () => {
  test.each(WAYS)(
    'a message of a real engine that breaks off is continued, %s',
    async (_way, settings) => {
      const { engine, wire, gateway } = await startResuming(PLAIN, settings);
      const whole = seenIn((await ask(engine)).text);
      for (const after of [1, 2, 8, 20, 39]) {
        wire.after = after;
        const { text } = await ask(gateway.url);
        expect(text).toContain(': carried on by hosted_b\n\n');
        expect(seenIn(text)).toEqual(whole);
      }
    },
  );

  test('a message of a real engine that breaks off is continued by another machine of the owner’s', async () => {
    const engine = await startLlama(SERVER ?? '', PLAIN);
    const wire = await startCuttingWire(engine);
    const whole = seenIn((await ask(engine)).text);
    const machines = [wire.url, engine].map((url, at) => {
      const id = `prv_${(at + 1).toString(16).padStart(32, '0')}`;
      return { stored: storedMachine(id, url, { verification: { ownedBy: 'llamacpp' } }) };
    });
    for (const after of [1, 8, 39]) {
      wire.after = after;
      const tier = await startTier(machines);
      const { text } = await ask(tier.url);
      expect(text).toContain(': carried on by local/');
      expect(seenIn(text)).toEqual(whole);
    }
  });

  test.each(WAYS)(
    'a message of a real engine that has thought is continued in its text, %s',
    async (_way, settings) => {
      const { engine, wire, gateway } = await startResuming(THINKING, settings);
      const whole = seenIn((await ask(engine)).text);
      expect(whole.said.map(([type]) => type)).toEqual(['thinking', 'text']);
      for (const after of [11, 20, 35]) {
        wire.after = after;
        const { text } = await ask(gateway.url);
        expect(text).toContain(': carried on by hosted_b\n\n');
        expect(seenIn(text)).toEqual(whole);
      }
    },
  );
});
