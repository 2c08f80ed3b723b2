import { readdirSync, readFileSync } from 'node:fs';
import { expect, test, type TestContext } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import { chat, HELLO, startChat } from '../support/client.ts';
import { postJson, send } from '../support/http.ts';
import { startRuledHost } from '../support/ruled-host.ts';
import { soon } from '../support/two-hosts.ts';
import { KALOMI, skipUnlessLoaded, startLlama, startLlamaRouter } from './llama-server.ts';

// A machine with a real llama.cpp as router of several models, each of which is a process of its own, and the memory that
// they take: RAM in place of a GPU's. Skipped where it cannot start its children.

const TEXTS = { alpha: KALOMI, beta: { cycle: [' no', ' pe', ' qu'] } };

const askFor = (model: string, max_tokens = 6) => ({ ...HELLO, model, max_tokens, temperature: 0 });

/** Bytes in memory of the processes that `pid` has started, by their number. */
function memoryOfChildren(pid: number): ReadonlyMap<number, number> {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(
    processes.flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        const [, parent] = /^PPid:\s*(\d+)/m.exec(status) ?? [];
        const [, kilobytes] = /^VmRSS:\s*(\d+)/m.exec(status) ?? [];
        return Number(parent) === pid ? [[Number(name), Number(kilobytes ?? 0) * 1024]] : [];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    }),
  );
}

const sumOf = (memory: ReadonlyMap<number, number>) =>
  [...memory.values()].reduce((sum, bytes) => sum + bytes, 0);

/** The models in memory, by the router's own list. */
async function loadedIn(router: string): Promise<readonly string[]> {
  const { text } = await send(`${router}/v1/models`);
  const { data } = JSON.parse(text) as { data: { id: string; status: { value: string } }[] };
  return data.filter(({ status }) => status.value === 'loaded').map(({ id }) => id);
}

/** The machine, whose engine has loaded `alpha`. */
async function startMachine(context: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const router = await startLlamaRouter(TEXTS);
  const chats = `${router.url}/v1/chat/completions`;
  skipUnlessLoaded(context, await postJson(chats, askFor('alpha')));
  const host = await startRuledHost({ settings: { ENGINE_URL: router.url, ...settings } });
  return { router, host };
}

const viewIn = (answer: { readonly text: string }) => JSON.parse(answer.text) as AgentView;

test('a machine with a real router of models serves the model asked for, and its checks load none', async (context) => {
  const { router, host } = await startMachine(context);
  const { engine } = await host.view();
  expect(engine).toMatchObject({ kind: 'llama.cpp', health: { status: 'ok' } });
  expect(engine?.models.toSorted()).toEqual(['alpha', 'beta']);
  expect(await loadedIn(router.url)).toEqual(['alpha']);
  const { upstream, text } = await chat(host.url, askFor('beta'));
  expect([upstream, JSON.parse(text)]).toMatchObject(['local', { model: 'beta' }]);
  expect(text).toMatch(/ no| pe| qu/);
  expect(await loadedIn(router.url)).toEqual(['alpha', 'beta']);
});

test('freed memory of a real engine is given back, hosted answers meanwhile, and the model comes back first', async (context) => {
  const { router, host } = await startMachine(context);
  const held = memoryOfChildren(router.pid);
  expect(sumOf(held)).toBeGreaterThan(10 * 1024 * 1024);

  const freed = await host.order('agent/free', {});
  expect([freed.status, viewIn(freed).owner]).toEqual([
    200,
    expect.objectContaining({ mode: 'paused', freed: { untilMs: null } }),
  ]);
  expect(viewIn(freed).memory).toEqual({ state: 'freed', toLoad: ['alpha'], problem: null });
  expect(sumOf(memoryOfChildren(router.pid))).toBeLessThan(0.1 * sumOf(held));
  expect(await loadedIn(router.url)).toEqual([]);

  // A heartbeat says so within a second; until then the machine itself refuses requests.
  await soon(async () => expect(await host.status()).toBe('paused'));
  const meanwhile = await chat(host.url, askFor('alpha'));
  expect([meanwhile.upstream, meanwhile.reason]).toEqual(['hosted_a', 'local=paused']);
  expect(await loadedIn(router.url)).toEqual([]);

  await host.order('agent/mode', { mode: 'on' });
  await soon(async () => {
    const { upstream } = await chat(host.url, askFor('alpha'));
    // No request loads it: nothing but the agent loads it, and it does before requests return.
    if (upstream === 'local') return;
    expect(await loadedIn(router.url)).toEqual(['alpha']);
    throw new Error('not back yet');
  });
  expect((await host.view()).memory).toEqual({ state: 'kept', toLoad: [], problem: null });
});

test('the memory of a real engine changes for an order only when no request runs', async (context) => {
  const { router, host } = await startMachine(context);
  const running = startChat(host.url, { ...askFor('alpha', 3000), stream: true });
  await running.received('"content"');
  const ordered = host.order('agent/models', { model: 'beta', action: 'load' });
  await soon(async () => expect((await host.view()).owner.mode).toBe('draining'));
  expect(await loadedIn(router.url)).toEqual(['alpha']);
  running.leave();
  expect((await ordered).status).toBe(200);
  expect(await loadedIn(router.url)).toEqual(['alpha', 'beta']);
  const { models } = await host.view();
  const both = [
    { id: 'alpha', loaded: true },
    { id: 'beta', loaded: true },
  ];
  expect(models).toMatchObject(both);
  expect((await host.order('agent/models', { model: 'alpha', action: 'unload' })).status).toBe(200);
  expect(await loadedIn(router.url)).toEqual(['beta']);
  expect((await host.view()).owner.mode).toBe('on');
});

test('the memory of a real engine goes when nobody uses it, and the next request loads it again', async (context) => {
  const idle = { AGENT_IDLE_UNLOAD_MIN: '0.05' };
  const { router, host } = await startMachine(context, idle);
  await soon(async () => expect(await loadedIn(router.url)).toEqual([]));
  await soon(async () => expect((await host.view()).owner.mode).toBe('on'));
  await soon(async () => expect((await chat(host.url, askFor('alpha'))).upstream).toBe('local'));
  expect(await loadedIn(router.url)).toEqual(['alpha']);
});

test('the memory of a real engine for one model cannot be freed, and its owner learns what would help', async () => {
  const llama = await startLlama(TEXTS.alpha);
  const host = await startRuledHost({ settings: { ENGINE_URL: llama.url } });
  const { memory, owner } = viewIn(await host.order('agent/free', {}));
  expect([owner.mode, memory.state, memory.toLoad]).toEqual(['paused', 'freed', []]);
  expect(memory.problem).toMatch(/has no way to unload a model\. Start llama-server as a router/);
});
