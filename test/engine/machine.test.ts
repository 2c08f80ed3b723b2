import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { postJson } from '../support/http.ts';
import { startRuledHost } from '../support/ruled-host.ts';
import { MODEL } from '../support/tier.ts';
import { KALOMI, type Llama, startLlama } from './llama-server.ts';

// A machine with a real llama.cpp behind its own gateway, in real time.

const PICTURE = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
  ],
};

const start = (given = {}) => startLlama(KALOMI, given);

async function startMachineOf(llama: Llama, settings: Readonly<Record<string, string>> = {}) {
  return startRuledHost({ settings: { ENGINE_URL: llama.url, ...settings } });
}

/** Asks every 250 ms until `local` answers; gives the time that took and what the others took. */
async function untilLocal(url: string, limitMs: number) {
  const began = performance.now();
  for (;;) {
    const answer = await chat(url);
    const ms = performance.now() - began;
    if (answer.upstream === 'local') return { ms, answer };
    if (ms > limitMs) throw new Error(`after ${Math.round(ms)} ms: ${answer.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

test('a machine whose real engine loads another model within a minute serves it within 20 s', async () => {
  const first = await start({ alias: 'first' });
  const host = await startMachineOf(first);
  await first.kill();
  expect((await chat(host.url)).upstream).toBe('hosted_a');
  await start({ alias: 'second', port: first.port });
  const { ms, answer } = await untilLocal(host.url, 30_000);
  expect(JSON.parse(answer.text)).toMatchObject({ model: 'second' });
  expect(ms).toBeLessThan(20_000);
});

test('a machine whose real engine is killed and comes back is used again within 20 s', async () => {
  const first = await start();
  const host = await startMachineOf(first);
  await first.kill();
  for (let n = 0; n < 6; n += 1) expect((await chat(host.url)).upstream).toBe('hosted_a');
  await start({ port: first.port });
  expect((await untilLocal(host.url, 30_000)).ms).toBeLessThan(20_000);
});

test('a machine whose real engine is stopped keeps a request no longer than 25 s, and is degraded', async () => {
  const llama = await start();
  const host = await startMachineOf(llama, { HEDGE: 'off' });
  llama.signal('SIGSTOP');
  const began = performance.now();
  const answer = await chat(host.url);
  expect([answer.upstream, answer.reason]).toEqual([
    'hosted_a',
    expect.stringMatching(/^local\/prv_[0-9a-f]+=unreachable$/),
  ]);
  expect(performance.now() - began).toBeLessThan(25_000);
  expect(await host.status()).toBe('degraded');
  llama.signal('SIGCONT');
  expect((await untilLocal(host.url, 30_000)).ms).toBeLessThan(20_000);
});

test('a machine whose real engine cannot read pictures keeps its texts, and pictures go elsewhere', async () => {
  const host = await startMachineOf(await start());
  for (let n = 0; n < 6; n += 1) {
    const answer = await chat(host.url, PICTURE);
    const outcome = [answer.upstream, answer.reason];
    expect(outcome).toEqual(['hosted_a', expect.stringContaining('unsupported_input')]);
  }
  expect((await chat(host.url)).upstream).toBe('local');
});

test('a machine continues an answer that its caller has begun as its real engine does', async () => {
  const llama = await start();
  const host = await startMachineOf(llama);
  const asked = {
    messages: [...HELLO.messages, { role: 'assistant', content: ' ka lo' }],
    model: MODEL,
    max_tokens: 4,
    temperature: 0,
  };
  const contentOf = (text: string) =>
    (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message
      .content;
  const direct = contentOf((await postJson(`${llama.url}/v1/chat/completions`, asked)).text);
  expect(direct).toBe(' ka lo mi ka lo mi');
  expect(contentOf((await chat(host.url, asked)).text)).toBe(direct);
});

test('a machine whose real engine wants a key says so, and serves once it has it', async () => {
  const open = await start();
  const host = await startMachineOf(open);
  await open.kill();
  await start({ port: open.port, apiKey: 'sk-engine' });
  const health = async () => (await host.view()).engine?.health.status;
  await expect.poll(health, { timeout: 30_000 }).toBe('unauthorized');
  await expect.poll(() => host.status(), { timeout: 5000 }).toBe('degraded');
  expect((await chat(host.url)).upstream).toBe('hosted_a');
  expect((await host.patch({ engineApiKey: 'sk-engine' })).status).toBe(200);
  expect((await untilLocal(host.url, 30_000)).ms).toBeLessThan(20_000);
});
