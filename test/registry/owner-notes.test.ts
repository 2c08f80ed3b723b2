import { expect, test } from 'vitest';
import { send } from '../support/http.ts';
import { CONTROL, startWire } from './wire.ts';
import { createTestStore, startRegistry } from './world.ts';

const NOTE = {
  name: 'Tower in the attic',
  note: 'Fan replaced in May.\nAsk Kim before a restart.',
};

test('the owner’s name and note of a machine are there after a restart, until it is removed', async () => {
  const store = createTestStore();
  const { join, beat, registry, changed } = startRegistry({ store });
  const { id } = await join().then(async (agent) => (await beat(agent), agent));
  changed.length = 0;
  expect(await registry.setNote(id, NOTE)).toMatchObject({ kind: 'answered', body: { id } });
  expect(changed).toEqual([id]);

  const again = startRegistry({ store });
  expect(again.registry.notes()).toEqual({ notes: { [id]: NOTE } });
  await again.registry.remove(id);
  expect(again.registry.notes()).toEqual({ notes: {} });
  expect(store.state().documents).not.toHaveProperty(`note:${id}`);
});

test('an owner’s note that cannot be written is refused and not shown', async () => {
  const { join, registry, store } = startRegistry();
  const { id } = await join();
  store.fail('The disk is full.');
  expect(await registry.setNote(id, NOTE)).toMatchObject({ kind: 'refused', status: 503 });
  expect(registry.notes()).toEqual({ notes: {} });
});

test('owner’s notes are read by callers, and written with control only', async () => {
  const wire = await startWire();
  const { id } = await wire.join();
  const put = (headers: Readonly<Record<string, string>>) =>
    send(`${wire.url}/api/v1/providers/${id}/note`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(NOTE),
    });
  expect((await put({})).status).toBe(401);
  expect((await put(CONTROL)).status).toBe(200);
  const read = await send(`${wire.url}/api/v1/providers/notes`);
  expect(JSON.parse(read.text)).toEqual({ notes: { [id]: NOTE } });
});
