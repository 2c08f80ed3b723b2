import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { RequestedModel } from '../../main/gateway/usage/queries.ts';
import { axeViolations } from '../support/browser.ts';
import { chat, HELLO } from '../support/client.ts';
import { directoryWith } from '../support/data-directory.ts';
import { startOllama } from '../support/ollama.ts';
import { completion, json, lists, startUpstream } from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

const HOUR_MS = 3_600_000;

const asked = (
  name: string,
  calls: number,
  hours: number,
  more: Partial<RequestedModel>,
): RequestedModel => ({
  name,
  upstream: 'local',
  provider: '',
  model: 'qwen3:4b',
  calls,
  lastAt: Date.now() - hours * HOUR_MS,
  ...more,
});

const ASKED = [
  asked('claude-sonnet-4-5-20250929', 1840, 1, {}),
  asked('claude-sonnet-4-5-20250929', 12, 5, { upstream: 'hosted_a', model: 'mini' }),
  asked('claude-haiku-4-5-20251001', 3120, 2, {}),
  asked('gpt-4o', 17, 300, { upstream: '', model: '' }),
  asked('qwen3:4b', 9, 400, {}),
];

const rowOf = (page: Page, name: string) => page.getByRole('row', { name });

test('the page of models shows what apps asked for and where it went, and maps a name at once', async () => {
  const engine = await startUpstream(json(200, completion('hi')));
  engine.answerGet = lists('qwen3:4b', 'qwen3:30b', 'nomic-embed-text');
  const settings = { INGLENOOK_LOCAL_ENGINE_URL: engine.url };
  const { url, page } = await openWindowHost(settings, directoryWith({ requested: ASKED }));
  await page.getByRole('navigation', { name: 'Pages' }).getByText('Models').click();
  await page.getByRole('table', { name: 'Names that apps asked for' }).waitFor();
  const names = await page.getByRole('rowheader').allInnerTexts();
  expect(names).toEqual([
    'claude-haiku-4-5-20251001',
    'claude-sonnet-4-5-20250929',
    'gpt-4o',
    'qwen3:4b',
  ]);
  const sonnet = rowOf(page, 'claude-sonnet');
  await sonnet.getByText('Your GPUs: qwen3:4b').waitFor();
  await sonnet.getByText('(12 requests)').waitFor();
  await rowOf(page, 'gpt-4o').getByText('No answer').waitFor();
  const choice = page.getByRole('combobox', { name: 'Send claude-sonnet' });
  await expect
    .poll(() => choice.locator('option').allInnerTexts())
    .toEqual(['the usual order', 'qwen3:4b', 'qwen3:30b']);
  const listed = page.getByRole('combobox', { name: 'Send qwen3:4b' });
  expect(await listed.locator('option').allInnerTexts()).toEqual(['its own source', 'qwen3:30b']);
  await choice.selectOption('qwen3:30b');
  await expect
    .poll(async () => {
      await chat(url, { ...HELLO, model: 'claude-sonnet-4-5-20250929' });
      return engine.calls.at(-1)?.json['model'];
    })
    .toBe('qwen3:30b');
});

test('a model whose window is too small gets a copy with a larger one by a click, and loses it by another', async () => {
  const model = 'qwen3:8b';
  const ollama = await startOllama({ [model]: { contextLength: 262_144 } });
  const { url, page } = await openWindowHost({ INGLENOOK_LOCAL_ENGINE_URL: ollama.url });
  const read = () => fetch(`${url}/v1/models/${model}`);
  const window = async () =>
    ((await (await read()).json()) as { context_length?: number }).context_length;
  await expect.poll(async () => (await read()).status).toBe(200);
  await chat(url, HELLO);
  await expect.poll(window).toBe(4096);
  const long = { messages: [{ role: 'user', content: 'bakery '.repeat(9000) }] };
  expect((await chat(url, long)).status).toBe(400);

  await page.getByText('qwen3:8b reads only 4,096 tokens').waitFor();
  await page.getByRole('button', { name: 'Make a 64k copy' }).click();
  await page.getByText('qwen3:8b reads only').waitFor({ state: 'detached' });
  expect(await chat(url, long)).toMatchObject({ status: 200, upstream: 'local' });
  await page.getByRole('navigation', { name: 'Pages' }).getByText('Models').click();
  await page.getByText('Requests for qwen3:8b go to qwen3:8b-64k').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Remove the copy' }).click();
  await page.getByText('Requests for qwen3:8b go to').waitFor({ state: 'detached' });
  expect([...ollama.models.keys()]).toEqual([model]);
});
