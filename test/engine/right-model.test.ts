import { expect, test } from 'vitest';
import { chat, HELLO, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson, send } from '../support/http.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { KALOMI, skipUnlessLoaded, startLlamaRouter } from './llama-server.ts';

// A gateway whose fixed engine is a real llama.cpp, as router of three models of which one is an embedder by its name.
// Skipped where it cannot start its children.

const MODELS = { 'a-nomic-embed-text': KALOMI, beta: KALOMI, gamma: KALOMI };

interface Listed {
  readonly id: string;
  readonly context_length?: number;
}

test('a router of models gets an unknown name as its loaded chat model, or loads one, and never an embedder', async (context) => {
  const { url: router } = await startLlamaRouter(MODELS);
  const hosted = await startUpstream(answers('a'));
  const urls = at({ local: router, hosted_a: hosted.url });
  const { url } = await startGateway({ ...urls, HOSTED_A_MODEL: 'mini' });
  const listed = async () => {
    const { text } = await send(`${url}/v1/models`);
    return (JSON.parse(text) as { data: readonly Listed[] }).data;
  };
  await expect.poll(async () => (await listed()).map(({ id }) => id)).toContain('gamma');
  const asked = { ...HELLO, model: 'gpt-4o', max_tokens: 3, temperature: 0 };
  const modelOf = async (body: object) => {
    const { text, upstream } = await chat(url, body);
    return [upstream, (JSON.parse(text) as { model: string }).model];
  };
  const first = await chat(url, asked);
  skipUnlessLoaded(context, first);
  expect(JSON.parse(first.text)).toMatchObject({ model: 'beta' });
  expect(await modelOf({ ...asked, model: 'gamma' })).toEqual(['local', 'gamma']);
  // It answered last, and both are loaded.
  expect(await modelOf(asked)).toEqual(['local', 'gamma']);
  const { status } = await postJson(`${router}/models/unload`, { model: 'gamma' });
  expect(status).toBe(200);
  expect(await modelOf({ ...asked, stream: false })).toEqual(['local', 'gamma']);
  const windows = async () =>
    (await listed()).flatMap(({ context_length: length }) => (length === undefined ? [] : length));
  await expect.poll(windows).not.toContain(32_768);
  // Words of another language, each a token or more.
  const long = { ...asked, messages: [{ role: 'user', content: ' ka'.repeat(3000) }] };
  const refused = await postJson(`${router}/v1/chat/completions`, { ...long, model: 'gamma' });
  expect(refused.text).toContain('exceed_context_size_error');
  const moved = { upstream: 'hosted_a', reason: 'local=context_length' };
  expect(await chat(url, long)).toMatchObject(moved);
  expect(hosted.calls).toHaveLength(1);
  await startCall(`${url}/v1/embeddings`, { model: 'a-nomic-embed-text', input: 'hi' }).answer;
  expect(await modelOf(asked)).toEqual(['local', 'gamma']);
});
