import { expect, test } from 'vitest';
import { chat, chatStream, expectServed } from '../support/client.ts';
import type { Log } from '../../main/platform/log.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { answers, chunk, completion, DONE, json, sse, STOP, lists } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { usageChunk, usageOf } from '../support/usage.ts';

/*
 * An Ollama that serves 4,096 tokens reads that much of a longer prompt and answers with a 200
 * (github.com/ollama/ollama/issues/4967; reports of `prompt_tokens` 2051 for 87 KB in DeepSeek-Reasonix PR 10245).
 */

const cutting = json(200, { ...completion('I see no question.'), usage: usageOf(4096, 5) });
const long = (count: number) => ({
  messages: [{ role: 'user', content: 'bakery '.repeat(count) }],
});

async function started(settings: Readonly<Record<string, string>> = {}) {
  const logged: { event: string; fields: unknown }[] = [];
  const log: Log = (_level, event, fields) => void logged.push({ event, fields });
  const { gateway, local } = await startBefore(
    { local: { script: cutting, get: lists('qwen3:4b') }, a: answers('a') },
    { HOSTED_A_MODEL: 'mini', ...settings },
    systemClock,
    log,
  );
  const model = async () => (await fetch(`${gateway.url}/v1/models/qwen3:4b`)).status;
  await expect.poll(model).toBe(200);
  const rows = () => gateway.host.snapshot().requests;
  return { ...gateway, local, logged, rows };
}

test('an engine that cuts prompts is found out within two requests, and gets no third that it would cut', async () => {
  const { url, local, logged, rows } = await started();
  expectServed(await chat(url, long(9000)), 'local');
  expect(rows()[0]?.attempts[0]).toMatchObject({ reason: null, cutAtTokens: 4096 });
  expectServed(await chat(url, long(11_000)), 'hosted_a', 'local=truncated');
  expect(rows()[0]?.attempts[0]).toMatchObject({ reason: 'truncated', cutAtTokens: 4096 });
  expectServed(await chat(url, long(9000)), 'hosted_a', 'local=context_length');
  expect(local.calls).toHaveLength(2);
  const model = await fetch(`${url}/v1/models/qwen3:4b`);
  expect(await model.json()).toMatchObject({ context_length: 4096 });
  expect(logged.filter(({ event }) => event === 'prompt_cut')).toHaveLength(2);
});

test('an engine that cuts prompts is found out in streams as well, and the rest of the stream is sent', async () => {
  const { url, local, rows } = await started();
  local.script = sse(chunk({ content: 'hi' }), STOP, usageChunk(4096, 5), DONE);
  expect(await chatStream(url, long(9000))).toMatchObject({ upstream: 'local' });
  expect(await chatStream(url, long(9000))).toMatchObject({ upstream: 'local' });
  await expect.poll(() => rows()[0]?.attempts[0]?.cutAtTokens).toBe(4096);
  expectServed(await chatStream(url, long(9000)), 'hosted_a', 'local=context_length');
});

test('an engine that cuts prompts, with no other upstream, gives an error by which clients shorten the prompt', async () => {
  const { url } = await started({ HOSTED_A_BASE_URL: '', HOSTED_A_MODEL: '' });
  expect((await chat(url, long(9000))).status).toBe(200);
  for (let n = 0; n < 2; n += 1) {
    const { status, text } = await chat(url, long(9000));
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'context_length_exceeded' } });
  }
});
