import { expect, test } from 'vitest';
import type { NameUsageReport } from '#shared/models.ts';
import { chat, HELLO } from '../support/client.ts';
import { startIn } from '../support/gateway.ts';
import { send } from '../support/http.ts';
import { startBefore } from '../support/scene.ts';
import { answers, error, lists } from '../support/upstream.ts';

async function askedAt(url: string): Promise<NameUsageReport> {
  const { status, text } = await send(`${url}/api/v1/models/asked`);
  expect(status).toBe(200);
  return JSON.parse(text) as NameUsageReport;
}

async function started() {
  const engine = { script: answers('local'), get: lists('llama', 'nomic-embed-text') };
  const { gateway, local, a } = await startBefore(
    { local: engine, a: answers('a') },
    { HOSTED_A_MODEL: 'mini', HOSTED_A_LABEL: 'mine' },
  );
  const list = async () => (await askedAt(gateway.url)).models;
  await expect.poll(list).toEqual(['llama', 'mine/mini']);
  return { ...gateway, local, hosted: a };
}

test('every name that apps asked for is listed, with where it went and its alias, and is there after a restart', async () => {
  const { url, local, host, set, dataDirectory } = await started();
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  await chat(url, { ...HELLO, model: 'llama' });
  await chat(url);
  local.script = error(503);
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  const { days, names, problem } = await askedAt(url);
  expect([days, problem]).toEqual([30, null]);
  expect(names).toEqual([
    {
      name: 'gpt-4o',
      calls: 3,
      lastAt: expect.any(Number),
      destinations: [
        { upstream: 'local', provider: null, machine: null, model: 'llama', calls: 2 },
        { upstream: 'hosted_a', provider: null, machine: null, model: 'mini', calls: 1 },
      ],
      aliasOf: null,
      isListed: false,
    },
    expect.objectContaining({ name: 'llama', calls: 1, isListed: true }),
  ]);
  await set({ routing: { modelAliases: ['gpt-*=mine/mini'] } });
  expect((await askedAt(url)).names[0]).toMatchObject({ name: 'gpt-4o', aliasOf: 'mine/mini' });
  await host.stop();
  const again = await askedAt((await startIn(dataDirectory)).url);
  expect(again.names.map(({ name }) => name)).toEqual(['gpt-4o', 'llama']);
});

test('a name that got no answer is listed, too', async () => {
  const { url, local, hosted } = await started();
  await Promise.all([local.close(), hosted.close()]);
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  const { names } = await askedAt(url);
  expect(names[0]?.destinations).toEqual([
    { upstream: null, provider: null, machine: null, model: null, calls: 1 },
  ]);
});
