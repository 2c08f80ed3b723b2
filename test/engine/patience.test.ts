import { type AddressInfo, connect, createServer } from 'node:net';
import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { chat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { llamaServer } from './find-server.ts';
import { type Llama, startLlamaProcess } from './llama-server.ts';

/*
 * A real llama.cpp that reads a prompt for seconds, before a gateway whose limits are milliseconds. Run where a llama-server
 * is on the path, or where INGLENOOK_TEST_LLAMA_SERVER says; skipped elsewhere.
 */

const SERVER = llamaServer();
const WHY = SERVER === null ? ' (skipped: no llama-server, see INGLENOOK_TEST_LLAMA_SERVER)' : '';
const TEXT = { cycle: [' ka', ' lo', ' mi'], trims: false };
const CONTEXT = 16_384;

/** New at its beginning each time, so that no cache has it. */
let prompts = 0;
const longPrompt = () => `${(prompts += 1)}${' ka lo mi'.repeat(CONTEXT / 6 - 100)}`;
const user = () => [{ role: 'user' as const, content: longPrompt() }];

async function startReading(settings: Readonly<Record<string, string>>) {
  const llama = await startLlamaProcess(SERVER ?? '', TEXT, { context: CONTEXT });
  const hosted = await startUpstream(answers('paid'));
  const gateway = await startGateway({
    LOCAL_ENGINE_URL: llama.url,
    HOSTED_A_BASE_URL: hosted.url,
    ...settings,
  });
  const isKnown = () => gateway.host.snapshot().status.config.models['local'] !== null;
  await expect.poll(isKnown, { timeout: 10_000 }).toBe(true);
  return { llama, ...gateway };
}

/** As nginx does, it cuts a connection over which nothing comes for so long; gives its address. */
async function startProxy(url: string, readTimeoutMs: number): Promise<string> {
  const server = createServer((caller) => {
    const gateway = connect(Number(new URL(url).port), '127.0.0.1');
    const end = () => {
      caller.destroy();
      gateway.destroy();
    };
    gateway.setTimeout(readTimeoutMs, end).on('error', end).on('close', end);
    caller.on('error', end).on('close', end);
    caller.pipe(gateway).pipe(caller);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.skipIf(SERVER === null)(`a real engine that reads for long${WHY}`, () => {
  test('unmodified clients behind a proxy that cuts silent connections get the answer to a prompt that is read once', async () => {
    const limits = { LOCAL_TIMEOUT_MS: '200', KEEP_ALIVE_MS: '200', TTFT_THRESHOLD_MS: '200' };
    const { url, host } = await startReading(limits);
    const proxy = await startProxy(url, 1500);
    const key = { apiKey: 'any', maxRetries: 0 };
    const openai = new OpenAI({ ...key, baseURL: `${proxy}/v1` });
    const anthropic = new Anthropic({ ...key, baseURL: proxy });
    const few = { model: 'any', max_tokens: 4 };
    const ways: readonly (() => Promise<string | null | undefined>)[] = [
      () => openai.chat.completions.stream({ ...few, messages: user() }).finalContent(),
      async () => {
        const { choices } = await openai.chat.completions.create({ ...few, messages: user() });
        return choices[0]?.message.content;
      },
      () => anthropic.messages.stream({ ...few, messages: user() }).finalText(),
      async () => {
        const { content } = await anthropic.messages.create({ ...few, messages: user() });
        return content.map((block) => ('text' in block ? block.text : '')).join('');
      },
      async () => {
        const asked = { model: 'any', max_output_tokens: 4, input: longPrompt() };
        return (await openai.responses.stream(asked).finalResponse()).output_text;
      },
    ];
    for (const say of ways) {
      expect(await say()).toMatch(/ka|lo|mi/);
      const [row] = host.snapshot().requests;
      expect(row).toMatchObject({ upstream: 'local', fallbackReason: 'none', attemptCount: 1 });
    }
  });

  test('an engine that stops while it reads is left within 20 s, however long its prompt, and is used again once it goes on', async () => {
    const { url, llama } = await startReading({ KEEP_ALIVE_MS: '0' });
    const answer = chat(url, { messages: user() });
    await untilReading(llama);
    llama.signal('SIGSTOP');
    const began = performance.now();
    expect(await answer).toMatchObject({ upstream: 'hosted_a', reason: 'local=timeout' });
    expect(performance.now() - began).toBeLessThan(20_000);
    llama.signal('SIGCONT');
    expect((await chat(url)).upstream).toBe('local');
  });
});

/** Until one of its slots works. */
async function untilReading({ url }: Llama): Promise<void> {
  const slots = async () => (await fetch(`${url}/slots`)).text();
  await expect.poll(slots, { timeout: 10_000, interval: 20 }).toContain('"is_processing":true');
}
