import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createHost, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { openUsageDatabase } from '../../main/gateway/usage/database.ts';
import type { AskedAt } from '../../main/gateway/usage/asked.ts';
import { createUsageQueries } from '../../main/gateway/usage/queries.ts';
import { openUsageStore } from '../../main/gateway/usage/store.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { axeViolations } from '../support/browser.ts';
import { chat, HELLO } from '../support/client.ts';
import { remembering, temporaryDirectory } from '../support/gateway.ts';
import { openPage } from '../support/page.ts';
import { recordOf } from '../registry/world.ts';
import { enrolled, storedMachine } from '../support/tier.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const HOUR_MS = 3_600_000;

const asked = (name: string, calls: number, hours: number, more: Partial<AskedAt>): AskedAt => ({
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
];

/** A data directory in which an earlier run has counted this. */
function directoryWith(names: readonly AskedAt[]): string {
  const dataDirectory = temporaryDirectory();
  const opened = openUsageDatabase(join(dataDirectory, 'usage.db'), Date.now());
  if (opened.kind === 'unusable') throw new Error(opened.message);
  const write = { nowMs: Date.now(), increments: [], rows: [], asked: names };
  createUsageQueries(opened.db).write(write);
  opened.db.close();
  return dataDirectory;
}

async function started(env: Readonly<Record<string, string>> = {}) {
  const engine = await startUpstream(json(200, completion('hi')));
  const data = ['qwen3:4b', 'qwen3:30b', 'nomic-embed-text'].map((id) => ({ id }));
  engine.answerGet = ({ res }) => res.end(JSON.stringify({ data }));
  const loaded = loadConfig(
    {
      SWITCHYARD_PORT: '0',
      SWITCHYARD_AGENT: 'false',
      SWITCHYARD_LOCAL_ENGINE_URL: engine.url,
      ...env,
    },
    {},
  );
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join());
  const dataDirectory = directoryWith(ASKED);
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY },
    {
      openStore: remembering(),
      openUsage: openUsageStore,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    },
  );
  const { url } = await host.start();
  onTestFinished(() => host.stop());
  const page = await openPage(host.controlLink());
  await page.getByRole('navigation', { name: 'Pages' }).getByText('Models').click();
  await page.getByRole('table', { name: 'Names that apps asked for' }).waitFor();
  return { url, engine, page };
}

const rowOf = (page: Page, name: string) => page.getByRole('row', { name });

test('the page of models shows what apps asked for and where it went, and maps a name at once', async () => {
  const { url, engine, page } = await started();
  const names = await page.getByRole('rowheader').allInnerTexts();
  expect(names).toEqual(['claude-haiku-4-5-20251001', 'claude-sonnet-4-5-20250929', 'gpt-4o']);
  const sonnet = rowOf(page, 'claude-sonnet');
  await sonnet.getByText('Local: qwen3:4b').waitFor();
  await sonnet.getByText('(12 requests)').waitFor();
  await rowOf(page, 'gpt-4o').getByText('No answer').waitFor();
  const choice = page.getByRole('combobox', { name: 'Alias of claude-sonnet' });
  await expect
    .poll(() => choice.locator('option').allInnerTexts())
    .toEqual(['none', 'qwen3:4b', 'qwen3:30b']);
  await choice.selectOption('qwen3:30b');
  await expect
    .poll(async () => {
      await chat(url, { ...HELLO, model: 'claude-sonnet-4-5-20250929' });
      return engine.calls.at(-1)?.json['model'];
    })
    .toBe('qwen3:30b');
  expect(await axeViolations(page)).toEqual([]);
});

test('an alias of the environment is shown and cannot be changed', async () => {
  const { page } = await started({ SWITCHYARD_MODEL_ALIASES: 'gpt-*=qwen3:30b' });
  await page.getByText('SWITCHYARD_MODEL_ALIASES is set in the environment').waitFor();
  const choice = page.getByRole('combobox', { name: 'Alias of gpt-4o' });
  expect(await choice.isDisabled()).toBe(true);
  await page.getByText('qwen3:30b (by a pattern)').waitFor({ state: 'attached' });
});

test('machines of one name are told apart where a model name went, and one that is gone has no bare id', async () => {
  const [first, second, gone] = ['a', 'b', 'c'].map((digit) => `prv_${digit.repeat(32)}`);
  const { host: known } = recordOf();
  const machines = [first, second].map((id = '') =>
    storedMachine(id, 'http://127.0.0.1:9', { record: { host: { ...known, hostname: 'tower' } } }),
  );
  const openStore = remembering({ providers: enrolled(machines) });
  const names = [first, second, gone].map((provider = '', hours) =>
    asked(`model-${hours}`, 1, hours, { provider }),
  );
  const edges = { openStore, openUsage: openUsageStore };
  const host = await startWindowHost(NO_AGENT, edges, directoryWith(names));
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  const went = (name: string) => rowOf(page, name).locator('.models-went').innerText();
  await rowOf(page, 'model-0').waitFor();
  expect(await went('model-0')).toContain('Local · tower (aaaaaaaa)');
  expect(await went('model-1')).toContain('Local · tower (bbbbbbbb)');
  expect(await went('model-2')).toContain('Local · machine cccccccc');
});
