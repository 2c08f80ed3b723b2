import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { startGateway, temporaryDirectory } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { MODEL, startTier } from '../support/tier.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { onPath } from './find-server.ts';
import { KALOMI, type Llama, machinesAt, startLlama } from './llama-server.ts';

// A real llama.cpp that reads a prompt for seconds, before a gateway whose limits are milliseconds.

/** Of two slots, for agents: letters are the tokens of what they say. */
const CONTEXT = 65_536;

/** New at its beginning each time, so that no cache has it. */
let prompts = 0;
const longPrompt = () => `${(prompts += 1)}${' ka lo mi'.repeat(2600)}`;
const user = () => [{ role: 'user' as const, content: longPrompt() }];

const start = () => startLlama({ ...KALOMI, ends: true }, { context: CONTEXT });

async function startReading(settings: Readonly<Record<string, string>>) {
  const llama = await start();
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
    gateway.setTimeout(readTimeoutMs).on('error', end).on('close', end);
    // On a busy machine a timer may be late, and what came in the meantime is read behind it.
    gateway.on('timeout', () => {
      const { bytesRead } = gateway;
      setImmediate(() => setImmediate(() => void (gateway.bytesRead === bytesRead && end())));
    });
    caller.on('error', end).on('close', end);
    caller.pipe(gateway).pipe(caller);
  });
  return `http://127.0.0.1:${await listening(server)}`;
}

const LIMITS = { LOCAL_TIMEOUT_MS: '200', KEEP_ALIVE_MS: '200', TTFT_THRESHOLD_MS: '200' };
const ONCE = { upstream: 'local', fallbackReason: 'none', attemptCount: 1 };

/** Agents, where they are on the path, and how each is told of a gateway. */
const AGENTS = [
  {
    name: 'Claude Code',
    program: onPath('claude'),
    args: () => ['-p', 'hi'],
    env: (url: string) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: 'any',
      ANTHROPIC_MODEL: 'm',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  },
  {
    name: 'Codex',
    program: onPath('codex'),
    args: (url: string) => {
      const provider = `{name="x", base_url="${url}/v1", env_key="KEY", wire_api="responses"}`;
      const settings = [`model_providers.x=${provider}`, 'model_provider="x"', 'model="m"'];
      return ['exec', '--skip-git-repo-check', ...settings.flatMap((each) => ['-c', each]), 'hi'];
    },
    env: () => ({ KEY: 'any' }),
  },
];

/** On a busy machine a prompt takes half a minute. */
const LONG = { timeout: 300_000 };

test(
  'unmodified clients behind a proxy that cuts silent connections get the answer to a prompt that is read once',
  LONG,
  async () => {
    const { url, host } = await startReading(LIMITS);
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
      expect(host.snapshot().requests[0]).toMatchObject(ONCE);
    }
  },
);

for (const { name, program, args, env } of AGENTS)
  test.skipIf(program === null)(
    `${name} behind a proxy that cuts silent connections gets the answer to a prompt that is read once`,
    LONG,
    async () => {
      const { url, host } = await startReading(LIMITS);
      const proxy = await startProxy(url, 1500);
      const HOME = temporaryDirectory();
      const { PATH } = process.env;
      const agent = spawn(program ?? '', args(proxy), {
        cwd: HOME,
        env: { PATH, HOME, ...env(proxy) },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [said] = await Promise.all([textOf(agent.stdout), once(agent, 'close')]);
      expect(said).toContain('ka lo mi');
      expect(host.snapshot().requests).toMatchObject([ONCE]);
    },
  );

test(
  'two machines read a long prompt once between them, and have as long for it as one has',
  LONG,
  async () => {
    const llamas = [await start(), await start()];
    const machines = machinesAt(llamas.map(({ url }) => url));
    const { url, clock, host } = await startTier(machines, { HEALTH_CHECKS: 'false' });
    const answer = chat(url, { model: MODEL, max_tokens: 4, messages: user() });
    await Promise.race(llamas.map(untilReading));
    clock.advance(59_000);
    expect(await answer).toMatchObject({ status: 200, upstream: 'local' });
    expect(host.snapshot().requests).toMatchObject([ONCE]);
  },
);

test(
  'an engine that stops while it reads is left within 20 s, however long its prompt, and is used again once it goes on',
  LONG,
  async () => {
    const { url, llama } = await startReading({ KEEP_ALIVE_MS: '0' });
    const answer = chat(url, { messages: user() });
    await untilReading(llama);
    llama.signal('SIGSTOP');
    const began = performance.now();
    expect(await answer).toMatchObject({ upstream: 'hosted_a', reason: 'local=timeout' });
    expect(performance.now() - began).toBeLessThan(20_000);
    llama.signal('SIGCONT');
    expect((await chat(url)).upstream).toBe('local');
  },
);

/** Until one of its slots works. */
async function untilReading({ url }: Llama): Promise<void> {
  const slots = async () => (await fetch(`${url}/slots`)).text();
  await expect.poll(slots, { timeout: 10_000, interval: 20 }).toContain('"is_processing":true');
}
