import { expect, test } from 'vitest';
import { createTestStore, startRegistry } from './world.ts';

const NOTE = { name: 'Tower in the attic', note: 'Fan replaced in May.\nAsk Kim first.' };

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
  expect(startRegistry({ store }).registry.notes()).toEqual({ notes: {} });
});

test('an owner’s note that cannot be written is refused and not shown', async () => {
  const { join, registry, store } = startRegistry();
  const { id } = await join();
  store.fail('The disk is full.');
  expect(await registry.setNote(id, NOTE)).toMatchObject({ kind: 'refused', status: 503 });
  expect(registry.notes()).toEqual({ notes: {} });
});
