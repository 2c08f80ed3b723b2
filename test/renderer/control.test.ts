import { createCaller } from '../../renderer/api/client.ts';
import { expect, test } from 'vitest';
import { createControl } from '../../renderer/api/control.ts';
import {
  INITIAL_STATE,
  reduceWindow,
  type SettingsState,
} from '../../renderer/api/window-state.ts';

const OLD = { routing: { forceZero: { value: false, source: 'default' } } };
const NEW = { routing: { forceZero: { value: true, source: 'file' } } };

function setUp(answer: (path: string, init?: RequestInit) => Response | Promise<Response>) {
  const heard: SettingsState[] = [];
  const asked: string[] = [];
  const caller = createCaller(
    {
      request: async (path, init) => {
        asked.push(`${init?.method} ${path}`);
        return answer(path, init);
      },
    },
    () => undefined,
  );
  const control = createControl({ hasSession: () => true }, caller, (settings) =>
    heard.push(settings),
  );
  return { control, heard, asked };
}

test('a refused change of settings names the setting that it is about', async () => {
  const error = { message: 'no', param: 'local.timeoutMs' };
  const { control, heard } = setUp(() => Response.json({ error }, { status: 400 }));
  expect(await control.saveSettings({})).toEqual(error);
  expect(heard).toEqual([]);
});

test('settings that were read before a save, and arrive after it, do not undo it', async () => {
  const slow = Promise.withResolvers<Response>();
  const { control, heard } = setUp((_path, init) =>
    init?.method === 'GET' ? slow.promise : Response.json(NEW),
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
