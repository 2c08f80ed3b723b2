import { expect, test } from 'vitest';
import { chat, startChat } from '../support/client.ts';
import { postJson } from '../support/http.ts';
import { at } from '../support/words.ts';
import { startGateway } from '../support/gateway.ts';
import { MODEL, startTier, type Tier } from '../support/tier.ts';
import { type Llama, machinesAt, startLlama } from './llama-server.ts';
import { WORDS } from './words.ts';

// Conversations with real llama.cpp engines and the caches that they have.

const start = () => startLlama({ cycle: WORDS });

/** So many words, of which each is a token; another text for each `from`. */
const text = (count: number, from: number) =>
  Array.from({ length: count }, (_, n) => WORDS[(n * n + from * 7 + n * from) % WORDS.length]).join(
    '',
  );

/** A pool of two machines, and their engines by the ids of the machines. */
async function startHomes() {
  const llamas = await Promise.all([start(), start()]);
  const machines = machinesAt(llamas.map(({ url }) => url));
  const tier = await startTier(machines, { AFFINITY: 'auto', HEDGE: 'off' });
  const homes = new Map<string, Llama>();
  for (const [n, llama] of llamas.entries()) homes.set(machines[n]?.stored.id ?? '', llama);
  return { homes, tier };
}

function conversation(tier: Tier, from: number) {
  const messages: { role: string; content: string }[] = [];
  return {
    messages,
    async turn(words: number): Promise<{ readonly by: string; readonly read: number }> {
      messages.push({ role: 'user', content: text(words, from + messages.length) });
      const answer = await chat(tier.url, {
        model: MODEL,
        messages,
        max_tokens: 4,
        temperature: 0,
      });
      expect(answer.status).toBe(200);
      messages.push({ role: 'assistant', content: ' kalo' });
      const tokens = tier.host.snapshot().requests[0]?.tokens;
      return {
        by: String(answer.headers['x-gateway-provider']),
        read: (tokens?.input ?? 0) - (tokens?.cached ?? 0),
      };
    },
  };
}

test('conversations with real engines read only what is new, each at its machine', async () => {
  const { tier } = await startHomes();
  const talks = [1, 2, 3, 4].map((n) => conversation(tier, 10 * n));
  const firsts = [];
  for (const talk of talks) firsts.push(await talk.turn(600));
  expect(new Set(firsts.map(({ by }) => by)).size).toBe(2);
  for (const { read } of firsts) expect(read).toBeGreaterThan(600);
  for (let turn = 2; turn <= 4; turn += 1) {
    for (const [n, talk] of talks.entries()) {
      const { by, read } = await talk.turn(30);
      expect(by).toBe(firsts[n]?.by);
      expect(read).toBeLessThan(120);
    }
  }
});

test('conversations with real engines continue elsewhere with the next turn when their machine is killed', async () => {
  const { tier, homes } = await startHomes();
  const talks = [1, 2, 3, 4].map((n) => conversation(tier, 10 * n));
  const firsts: string[] = [];
  for (const talk of talks) firsts.push((await talk.turn(300)).by);
  const [dead = ''] = firsts;
  await homes.get(dead)?.kill();
  for (const talk of talks) expect((await talk.turn(30)).by).not.toBe(dead);
  for (const talk of talks) expect((await talk.turn(30)).read).toBeLessThan(120);
});

test('a new conversation avoids the real engine that is busy, and an old one returns to its own', async () => {
  const { tier } = await startHomes();
  const old = conversation(tier, 10);
  const home = (await old.turn(300)).by;
  const messages = [...old.messages, { role: 'user', content: text(10, 99) }];
  const long = startChat(tier.url, { model: MODEL, messages, max_tokens: 600, stream: true });
  await expect.poll(async () => (await tier.provider(home)).concurrentRequests).toBe(1);
  expect((await conversation(tier, 70).turn(100)).by).not.toBe(home);
  expect((await long.answer).status).toBe(200);
  expect((await old.turn(10)).by).toBe(home);
});

test.each(['chat', 'native'])(
  'conversations with Claude Code read less than a twentieth in the second turn, %s',
  async (protocols) => {
    const llama = await start();
    const settings = { ...at({ local: llama.url }), LOCAL_PROTOCOLS: protocols };
    const gateway = await startGateway(settings);
    const messages: object[] = [];
    const read: number[] = [];
    for (const cch of ['36ee5', '0aaa9']) {
      messages.push({ role: 'user', content: 'hello' });
      const line = `x-anthropic-billing-header: cc_version=2.1.177; cc_entrypoint=cli; cch=${cch};`;
      const system = [line, text(1200, 1)].map((block) => ({ type: 'text', text: block }));
      const body = { model: MODEL, max_tokens: 4, temperature: 0, system, messages };
      const answer = await postJson(`${gateway.url}/v1/messages`, body);
      expect(answer.status).toBe(200);
      messages.push({ role: 'assistant', content: ' kalo' });
      const tokens = gateway.host.snapshot().requests[0]?.tokens;
      read.push((tokens?.input ?? 0) - (tokens?.cached ?? 0));
    }
    const [first = 0, second = Infinity] = read;
    expect(first).toBeGreaterThan(1200);
    expect(second).toBeLessThan(0.05 * first);
  },
);
