import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { readExposition } from '../support/exposition.ts';
import { send } from '../support/http.ts';
import { MODEL, startMachine, startTier } from '../support/tier.ts';
import { completion, json, type Script } from '../support/upstream.ts';
import { history, usageOf } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';

/*
 * An engine with one slot, as a llama-server with `--parallel 1`: it has the last prompt in its cache and reads a new one
 * from the first byte that differs (tools/server/README.md of ggml-org/llama.cpp, `cache_prompt`). Four bytes are a token.
 */
function slot(): Script {
  let cached = '';
  return (call) => {
    const prompt = JSON.stringify(call.json['messages']);
    const differs = Array.from(prompt).findIndex((each, at) => each !== cached[at]);
    const tokens = (bytes: number) => Math.floor(bytes / 4);
    const reused = tokens(differs === -1 ? prompt.length : differs);
    cached = prompt;
    const usage = usageOf(tokens(prompt.length), 5, reused);
    return json(200, { ...completion('yes'), usage })(call);
  };
}

const SYSTEM = { role: 'system', content: 'be brief '.repeat(500) };
const reminder = (text: string) => ({
  role: 'user',
  content: `${text} ${'code '.repeat(2000)}<system-reminder>${text}</system-reminder>`,
});
const REST = [
  { role: 'assistant', content: 'yes' },
  { role: 'user', content: 'and now? '.repeat(2000) },
];

async function started(script: Script) {
  const { gateway } = await startBefore({ local: script });
  /** A turn of a conversation; gives what its row says. */
  async function turn(messages: readonly object[]) {
    expect((await chat(gateway.url, { model: 'm', messages })).status).toBe(200);
    return gateway.host.snapshot().requests[0]?.attempts[0]?.reading;
  }
  const reread = async (reason: string) => {
    const { text } = await send(`${gateway.url}/metrics`);
    const family = readExposition(text).get('inglenook_reread_tokens_total');
    return family?.series.get(JSON.stringify({ reason }));
  };
  return { ...gateway, turn, reread };
}

test('a row says what its engine read again and why, and so do the history and the metrics', async () => {
  const { url, turn, reread } = await started(slot());
  const first = [SYSTEM, reminder('one')];
  // Before an engine has reported a cached token nothing says that it would.
  expect(await turn([SYSTEM])).toBeUndefined();
  expect(await turn(first)).toMatchObject({ why: 'first_turn', again: 0 });
  expect(await turn([...first, ...REST])).toBeUndefined();
  const again = await turn([SYSTEM, reminder('two'), ...REST, ...REST]);
  expect(again).toMatchObject({ why: 'reminder', message: 2 });
  // All but the system prompt.
  expect(again?.again).toBeGreaterThan(6000);
  expect(again?.again).toBeLessThan(8000);
  expect(await turn([{ ...SYSTEM, content: 'be long' }, reminder('two'), ...REST])).toMatchObject({
    why: 'system',
    message: null,
  });
  const { rereads } = await history(url);
  expect(rereads.map(({ why, turns }) => [why, turns])).toEqual([
    ['system', 1],
    ['reminder', 1],
  ]);
  expect(await reread('reminder')).toBe(again?.again);
  expect(await reread('another_machine')).toBe(0);
});

test('a row says that another machine had the conversation', async () => {
  const [home, other] = [await startMachine(slot()), await startMachine(slot())];
  const tier = await startTier([home, other], { AFFINITY: 'auto' });
  const talk = [SYSTEM, reminder('one'), ...REST];
  const turn = async (messages: readonly object[]) => {
    expect((await chat(tier.url, { model: MODEL, messages })).status).toBe(200);
    return tier.host.snapshot().requests[0]?.attempts.at(-1)?.reading;
  };
  // Both have told once what they had in their caches.
  for (const each of [home, other]) {
    await each.close();
    await turn([{ role: 'user', content: 'hi' }]).catch(() => null);
    await turn([{ role: 'user', content: 'hi' }]).catch(() => null);
    await each.reopen();
  }
  await turn(talk);
  await (home.calls.length > other.calls.length ? home : other).close();
  expect(await turn([...talk, ...REST])).toMatchObject({ why: 'another_machine', message: null });
});
