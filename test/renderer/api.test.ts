import { createCaller } from '../../renderer/api/client.ts';
import { expect, test } from 'vitest';
import { createAgent } from '../../renderer/api/agent.ts';
import { createControl } from '../../renderer/api/control.ts';
import { createProviders } from '../../renderer/api/providers.ts';
import {
  INITIAL_STATE,
  reduceWindow,
  type SettingsState,
} from '../../renderer/api/window-state.ts';
import { startWatch } from '../../renderer/ui/use-reading.ts';
import { agentView } from './agent-builders.ts';
import { provider, providerList } from './provider-builders.ts';

/** What asks a gateway that answers so, and what it was asked. */
function asking(answer: (method: string, path: string) => Response | Promise<Response>) {
  const asked: string[] = [];
  const request = async (path: string, { method = 'GET' }: RequestInit = {}) => {
    asked.push(`${method} ${path}`);
    return answer(method, path);
  };
  return { caller: createCaller({ request }, () => undefined), asked };
}

const refused = (status: number, message: string) =>
  Response.json({ error: { message } }, { status });

const agentAnswering = (answer: () => Response) => createAgent(asking(answer).caller);

test('the dashboard keeps the agent’s view for the next visit', async () => {
  const view = agentView();
  const agent = agentAnswering(() => Response.json(view));
  expect(agent.last()).toBeNull();
  expect(await agent.read()).toEqual({ ok: true, value: { kind: 'on', view } });
  expect(agent.last()).toEqual({ kind: 'on', view });
});

test('a failed reading keeps the agent’s last view and has the gateway’s message', async () => {
  let isSick = false;
  const agent = agentAnswering(() => (isSick ? refused(503, 'Busy.') : Response.json(agentView())));
  await agent.read();
  isSick = true;
  expect(await agent.read()).toMatchObject({ ok: false, refusal: { message: 'Busy.' } });
  expect(agent.last()?.kind).toBe('on');
});

test('an agent that is switched off is a state to the dashboard, which another run of the gateway may end', async () => {
  const agent = agentAnswering(() => refused(409, 'Set INGLENOOK_AGENT to true.'));
  const value = { kind: 'off', message: 'Set INGLENOOK_AGENT to true.' };
  expect(await agent.read()).toEqual({ ok: true, value });
  expect(agent.last()).toEqual(value);
  agent.reconsider();
  expect(agent.last()).toBeNull();
  const other = agentAnswering(() => Response.json(agentView()));
  await other.read();
  other.reconsider();
  expect(other.last()?.kind).toBe('on');
});

const OLD = { routing: { forceZero: { value: false, source: 'default' } } };
const NEW = { routing: { forceZero: { value: true, source: 'file' } } };

function controlled(answer: (method: string) => Response | Promise<Response>) {
  const heard: SettingsState[] = [];
  const { caller } = asking(answer);
  const control = createControl({ hasSession: () => true }, caller, (settings) =>
    heard.push(settings),
  );
  return { control, heard };
}

test('a refused change of settings names the setting that it is about', async () => {
  const error = { message: 'no', param: 'local.timeoutMs' };
  const { control, heard } = controlled(() => Response.json({ error }, { status: 400 }));
  expect(await control.saveSettings({})).toEqual(error);
  expect(heard).toEqual([]);
});

test('settings that were read before a save, and arrive after it, do not undo it', async () => {
  const slow = Promise.withResolvers<Response>();
  const { control, heard } = controlled((method) =>
    method === 'GET' ? slow.promise : Response.json(NEW),
  );
  const reading = control.readSettings();
  await control.saveSettings({});
  slow.resolve(Response.json(OLD));
  await reading;
  expect(heard).toEqual([{ kind: 'read', view: NEW }]);
});

test('settings that were read outlive a failure to read them again', () => {
  const read = { kind: 'read', view: {} } as const;
  const failed = { kind: 'unreadable', message: 'gone' } as const;
  const first = reduceWindow(INITIAL_STATE, { kind: 'settings', settings: failed });
  expect(first.settings).toBe(failed);
  const known = reduceWindow(first, { kind: 'settings', settings: read });
  expect(reduceWindow(known, { kind: 'settings', settings: failed }).settings).toBe(read);
});

/** A registry that answers about machines as given, and has no notes. */
function machinesAnswering(answer: (path: string) => Response) {
  const { caller, asked } = asking((_method, path) =>
    path.endsWith('/notes') ? Response.json({ notes: {} }) : answer(path),
  );
  return { providers: createProviders(caller), asked };
}

const LIST = providerList(provider());
const MACHINES = { count: 1, data: LIST.data, notes: {} };
const ID = LIST.data[0]?.id ?? '';

test('a failed reading keeps the list of machines and has the gateway’s message', async () => {
  let sick = false;
  const { providers } = machinesAnswering(() =>
    sick ? refused(503, 'Too slow.') : Response.json(LIST),
  );
  await providers.readList();
  sick = true;
  const list = await providers.readList();
  expect(list).toMatchObject({ ok: false, status: 503, refusal: { message: 'Too slow.' } });
  expect(providers.lastList()).toEqual(MACHINES);
});

test('a machine is read without its history if that fails, which is told apart from an empty history', async () => {
  const { providers } = machinesAnswering((path) =>
    path.endsWith('/history') ? new Response('', { status: 500 }) : Response.json(LIST.data[0]),
  );
  expect(await providers.readOne(ID)).toMatchObject({ ok: true, value: { history: null } });
});

test('the id of a machine cannot lead to another path', async () => {
  const { providers, asked } = machinesAnswering(() => new Response(null, { status: 202 }));
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
