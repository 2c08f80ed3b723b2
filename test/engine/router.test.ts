import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { postJson, send } from '../support/http.ts';
import { startRuledHost } from '../support/ruled-host.ts';
import { startLlamaRouter } from './llama-server.ts';

// A real llama.cpp as router of several models, of which it loads those that are asked for. Skipped where it cannot
// start its children, as one that is run through another loader.

const TEXTS = {
  alpha: { cycle: [' ka', ' lo', ' mi'], trims: false },
  beta: { cycle: [' no', ' pe', ' qu'], trims: false },
};

const askFor = (model: string) => ({ ...HELLO, model, max_tokens: 6, temperature: 0 });

/** The models in memory, by the router's own list. */
async function loadedIn(router: string): Promise<readonly string[]> {
  const { text } = await send(`${router}/v1/models`);
  const { data } = JSON.parse(text) as { data: { id: string; status: { value: string } }[] };
  return data.filter(({ status }) => status.value === 'loaded').map(({ id }) => id);
}

test('a machine with a real router of models serves the model asked for, and its checks load none', async (context) => {
  const { url: router } = await startLlamaRouter(TEXTS);
  const direct = await postJson(`${router}/v1/chat/completions`, askFor('alpha'));
  if (direct.text.includes('failed to load')) {
    context.skip('this llama-server cannot start its children');
  }
  const host = await startRuledHost({ env: { INGLENOOK_ENGINE_URL: router } });
  const engine = async () => (await host.view()).engine;
  expect(await engine()).toMatchObject({ kind: 'llama.cpp', health: { status: 'ok' } });
  expect((await engine())?.models.toSorted()).toEqual(['alpha', 'beta']);
  expect(await loadedIn(router)).toEqual(['alpha']);
  const answer = await chat(host.url, askFor('beta'));
  expect([answer.upstream, JSON.parse(answer.text)]).toEqual([
    'local',
    expect.objectContaining({ model: 'beta' }),
  ]);
  expect(answer.text).toMatch(/ no| pe| qu/);
  expect(await loadedIn(router)).toEqual(['alpha', 'beta']);
});
