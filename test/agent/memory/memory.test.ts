import { describe, expect, test } from 'vitest';
import { settled, startAgent, until } from '../../support/agent.ts';
import { startCall } from '../../support/client.ts';
import { type ScriptedKind, startScripted } from './scripted-engines.ts';

/** An agent in front of a scripted engine, once it has found it. */
async function startWith(
  kind: ScriptedKind,
  held: readonly string[],
  given: Parameters<typeof startAgent>[0] = {},
) {
  const engine = await startScripted(kind, held);
  const machine = await startAgent({ engineUrl: engine.url, ...given });
  const { agent, clock } = machine;
  await until(() => agent.view().engine?.kind === kind);
  return {
    ...machine,
    engine,
    /** Waits, moving time on. */
    wait: <T>(what: Promise<T>) => settled(what, clock).then(() => what),
    memory: () => agent.view().memory,
    mode: () => agent.view().owner.mode,
  };
}

describe.each([
  {
    kind: 'ollama',
    model: 'large',
    orders: [
      'POST /api/generate {"model":"large","keep_alive":0}',
      'POST /api/generate {"model":"large","stream":false}',
    ],
  },
  {
    kind: 'lmstudio',
    model: 'large',
    orders: [
      'POST /api/v1/models/unload {"instance_id":"large"}',
      'POST /api/v1/models/load {"model":"large"}',
    ],
  },
  {
    kind: 'llama-swap',
    model: 'large',
    orders: ['POST /api/models/unload/large {}', 'GET /upstream/large/health'],
  },
  { kind: 'vllm', model: 'small', orders: ['POST /sleep?level=1 {}', 'POST /wake_up {}'] },
  {
    kind: 'docker',
    model: 'large',
    orders: [
      'POST /engines/unload {"models":["large"]}',
      'POST /engines/v1/chat/completions {"model":"large","messages":[]}',
    ],
  },
] as const)('$kind', ({ kind, model, orders }) => {
  test(`${kind} unloads and loads a model on order, and its list says so`, async () => {
    const { agent, engine, wait } = await startWith(kind, ['small', 'large']);
    expect(await wait(agent.changeModel('unload', model))).toEqual({ kind: 'done' });
    expect(engine.loaded.has(model)).toBe(false);
    const entry = () => agent.view().models.find(({ id }) => id === model);
    expect(entry()).toMatchObject({ loaded: false, canUnload: true });
    expect(await wait(agent.changeModel('load', model))).toEqual({ kind: 'done' });
    expect(engine.loaded.has(model)).toBe(true);
    expect(entry()).toMatchObject({ loaded: true });
    expect(engine.orders).toEqual(orders);
  });

  test(`${kind} holds nothing once its memory is freed, and the same models again once requests return`, async () => {
    const { agent, engine, wait, memory, mode } = await startWith(kind, [model]);
    await wait(agent.free(null));
    expect([...engine.loaded]).toEqual([]);
    const state = [mode(), memory()];
    expect(state).toEqual(['paused', { state: 'freed', toLoad: [model], problem: null }]);
    const saved = agent.setMode('on');
    expect(mode()).toBe('paused');
    await wait(until(() => mode() === 'on'));
    await saved;
    expect([...engine.loaded]).toEqual([model]);
    expect(memory()).toEqual({ state: 'kept', toLoad: [], problem: null });
  });
});

test('an engine that cannot unload is named, and the machine takes no requests all the same', async () => {
  const { agent, memory, mode, wait, engine } = await startWith('mlx', ['small']);
  await wait(agent.free(null));
  expect(mode()).toBe('paused');
  expect(memory()).toEqual({
    state: 'freed',
    toLoad: [],
    problem: `mlx at ${engine.url} holds its model in memory as long as it runs. Stop it while you need the memory.`,
  });
  expect(agent.view().problems).toContainEqual(expect.objectContaining({ tool: 'engine' }));
});

test.each([
  ['mlx', 'small'],
  ['ollama', 'removed from its disk'],
] as const)('what %s kept in memory is no problem once requests return', async (kind, model) => {
  const { agent, memory, mode, wait } = await startWith(kind, [model]);
  await wait(agent.free(null));
  expect(memory()).toEqual({ state: 'freed', toLoad: [], problem: expect.any(String) });
  await agent.setMode('on');
  await wait(until(() => mode() === 'on'));
  expect(memory()).toEqual({ state: 'kept', toLoad: [], problem: null });
});

/** The rules and the time are looked at so often. */
const OBSERVED_MS = 5000;

test('memory that is freed for a time comes back when it is over, also after a restart', async () => {
  const first = await startWith('ollama', ['small', 'large']);
  const untilMs = first.clock.now() + 90 * 60_000;
  await first.wait(first.agent.free(90));
  expect(first.agent.view().owner.freed).toEqual({ untilMs });
  await first.stop();
  const { agent, clock } = await startAgent({
    engineUrl: first.engine.url,
    dataDirectory: first.directory,
    clock: first.clock,
  });
  const mode = () => agent.view().owner.mode;
  await until(() => agent.view().engine !== null);
  expect(mode()).toBe('paused');
  clock.advance(untilMs - clock.now() - 1);
  expect([mode(), [...first.engine.loaded]]).toEqual(['paused', []]);
  clock.advance(OBSERVED_MS);
  expect(agent.view().owner.freed).toBeNull();
  expect(mode()).toBe('paused');
  await settled(
    until(() => mode() === 'on'),
    clock,
  );
  expect([...first.engine.loaded].toSorted()).toEqual(['large', 'small']);
});

test('the agent unloads a model that nobody uses if the engine does not do it itself', async () => {
  const given = { idleUnloadMin: 0.5 };
  const swap = await startWith('llama-swap', ['small'], given);
  const ollama = await startWith('ollama', ['small'], given);
  for (const { clock } of [swap, ollama]) clock.advance(29_000);
  expect([...swap.engine.loaded]).toEqual(['small']);
  await swap.wait(until(() => swap.engine.loaded.size === 0));
  await swap.wait(until(() => swap.mode() === 'on'));
  ollama.clock.advance(120_000);
  expect([...ollama.engine.loaded]).toEqual(['small']);
});

/** An Ollama that holds a model and does not come to an end with a chat. */
async function startBusy() {
  const machine = await startWith('ollama', ['small']);
  const running = startCall(`${machine.url}/v1/chat/completions`, { model: 'small', messages: [] });
  await until(() => machine.agent.view().inFlight === 1);
  return { ...machine, running };
}

test('a running request may finish for 30 s when the memory is freed, and is then ended', async () => {
  const { agent, clock, running, engine, memory, mode, wait } = await startBusy();
  const freeing = agent.free(null);
  await until(() => memory().state === 'freeing' && clock.pending() > 0);
  expect(mode()).toBe('draining');
  clock.advance(29_000);
  expect([agent.view().inFlight, engine.orders]).toEqual([1, []]);
  await wait(freeing);
  expect((await running.answer).status).toBe(503);
  expect([...engine.loaded]).toEqual([]);
});

test('a running request delays an order for a minute, and the order is then refused', async () => {
  const { agent, running, engine, mode, wait } = await startBusy();
  const refused = { kind: 'refused', code: 'requests_running' };
  expect(await wait(agent.changeModel('unload', 'small'))).toMatchObject(refused);
  expect([engine.orders, mode()]).toEqual([[], 'on']);
  running.leave();
});
