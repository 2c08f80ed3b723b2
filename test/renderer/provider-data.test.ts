import { createCaller } from '../../renderer/api/client.ts';
import { expect, test } from 'vitest';
import { createProviders } from '../../renderer/api/providers.ts';
import { startWatch } from '../../renderer/ui/use-reading.ts';
import { provider, providerList } from './provider-builders.ts';

/** A registry that answers about machines as given, and has no notes. */
function setUp(answer: (path: string, init: RequestInit) => Response) {
  const asked: string[] = [];
  const caller = createCaller(
    {
      request: async (path, init = {}) => {
        const match = new Headers(init.headers).get('If-None-Match');
        asked.push([init.method ?? 'GET', path, match].filter(Boolean).join(' '));
        return path.endsWith('/notes') ? Response.json({ notes: {} }) : answer(path, init);
      },
    },
    () => undefined,
  );
  const providers = createProviders(caller);
  return { providers, asked };
}

const LIST = providerList(provider());
const MACHINES = { count: 1, data: LIST.data, notes: {} };
const ID = LIST.data[0]?.id ?? '';

test('a failed reading keeps the list of machines and has the gateway’s message', async () => {
  let sick = false;
  const { providers } = setUp(() =>
    sick
      ? Response.json({ error: { message: 'Too slow.' } }, { status: 503 })
      : Response.json(LIST),
  );
  await providers.readList();
  sick = true;
  expect(await providers.readList()).toMatchObject({
    ok: false,
    status: 503,
    refusal: { message: 'Too slow.' },
  });
  expect(providers.lastList()).toEqual(MACHINES);
});

test('a machine is read without its history if that fails, which is told apart from an empty history', async () => {
  const { providers } = setUp((path) =>
    path.endsWith('/history') ? new Response('', { status: 500 }) : Response.json(LIST.data[0]),
  );
  expect(await providers.readOne(ID)).toMatchObject({ ok: true, value: { history: null } });
});

test('the id of a machine cannot lead to another path', async () => {
  const { providers, asked } = setUp(() => new Response(null, { status: 202 }));
  await providers.verify('../settings');
  expect(asked).toEqual(['POST /api/v1/providers/..%2Fsettings/verify']);
});

/** A watch with time and readings in the test's hand. */
function watched() {
  let now = 0;
  let planned: { at: number; run: () => void } | null = null;
  const ends: (() => void)[] = [];
  const watch = startWatch({
    read: () => new Promise((resolve) => ends.push(resolve)),
    now: () => now,
    after: (ms, run) => {
      const own = { at: now + ms, run };
      planned = own;
      return () => {
        if (planned === own) planned = null;
      };
    },
  });
  return {
    watch,
    readings: () => ends.length,
    plannedAt: () => planned?.at ?? null,
    async end() {
      ends.at(-1)?.();
      await Promise.resolve();
      await Promise.resolve();
    },
    pass(ms: number) {
      now += ms;
      if (planned === null || planned.at > now) return;
      const { run } = planned;
      planned = null;
      run();
    },
  };
}

test('a watch reads at once, and after a change no sooner than 2 s later', async () => {
  const it = watched();
  expect(it.readings()).toBe(1);
  await it.end();
  it.watch.changed();
  it.watch.changed();
  expect(it.plannedAt()).toBe(2_000);
  it.pass(1_999);
  expect(it.readings()).toBe(1);
  it.pass(1);
  expect(it.readings()).toBe(2);
});

test('a watch without a change reads again after 15 s', async () => {
  const it = watched();
  await it.end();
  it.pass(14_999);
  expect(it.readings()).toBe(1);
  it.pass(1);
  expect(it.readings()).toBe(2);
});

test('a closed watch reads nothing, even if a reading ends later', async () => {
  const it = watched();
  it.watch.close();
  await it.end();
  it.watch.changed();
  it.watch.again();
  expect(it.plannedAt()).toBeNull();
  expect(it.readings()).toBe(1);
});
