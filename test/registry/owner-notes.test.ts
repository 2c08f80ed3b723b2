import { expect, test } from 'vitest';
import { send } from '../support/http.ts';
import { agentRecord } from '../support/agent-record.ts';
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

test('two empty texts remove the owner’s note', async () => {
  const { join, registry, store } = startRegistry();
  const { id } = await join();
  await registry.setNote(id, NOTE);
  await registry.setNote(id, { name: ' ', note: '' });
  expect(registry.notes()).toEqual({ notes: {} });
  expect(store.state().documents).not.toHaveProperty(`note:${id}`);
});

test('an owner’s note that cannot be written is refused and not shown', async () => {
  const { join, registry, store } = startRegistry();
  const { id } = await join();
  store.fail('The disk is full.');
  expect(await registry.setNote(id, NOTE)).toMatchObject({ kind: 'refused', status: 503 });
  expect(registry.notes()).toEqual({ notes: {} });
});

test.each([
  ['name', { name: 'x'.repeat(65), note: '' }],
  ['name', { name: 7, note: '' }],
  ['note', { name: '', note: 'x'.repeat(501) }],
  ['note', { name: '', note: 'a\u0000b' }],
])('a bad %s in an owner’s note is a 400 that names it', async (param, body) => {
  const { join, registry } = startRegistry();
  const { id } = await join();
  expect(await registry.setNote(id, body)).toMatchObject({ status: 400, param });
});

test('a damaged owner’s note is left out, and the rest is kept', async () => {
  const store = createTestStore();
  await store.write([{ kind: 'document', name: 'note:prv_a', json: '{"name":1}' }]);
  await store.write([{ kind: 'document', name: 'note:prv_b', json: JSON.stringify(NOTE) }]);
  expect(startRegistry({ store }).registry.notes()).toEqual({ notes: { prv_b: NOTE } });
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

test('the capacity counts the machines that routing may choose now', async () => {
  const { join, beat, verify, registry } = startRegistry();
  expect(registry.capacity()).toEqual({ serving: 0, models: 0, load: null });
  for (const [models, load] of [
    [['llama', 'qwen'], 20],
    [['llama'], 90],
  ] as const) {
    const agent = await join();
    await beat(agent, { models: [...models], current_model: models[0], gpu: gpuAt(load) });
    await verify(agent.id);
  }
  const resting = await join();
  await beat(resting, { models: ['other'], status: 'paused' });
  await verify(resting.id);
  expect(registry.capacity()).toEqual({ serving: 2, models: 2, load: { lowest: 20, highest: 90 } });
});

function gpuAt(util_gpu: number) {
  const { gpu } = agentRecord();
  return { ...gpu, devices: gpu.devices.slice(0, 1).map((device) => ({ ...device, util_gpu })) };
}
