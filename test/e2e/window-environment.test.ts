import { expect, test } from 'vitest';
import { directoryWith } from '../support/data-directory.ts';
import { openPage } from '../support/page.ts';
import { REFUSED_URL, startUpstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const ASKED = {
  name: 'gpt-4o',
  upstream: '',
  provider: '',
  model: '',
  calls: 17,
  lastAt: Date.now(),
} as const;

test('what the environment sets is read-only on each page, which says by which variable', async () => {
  const engine = await startUpstream();
  engine.answerGet = ({ res }) => res.end('{"data":[{"id":"qwen3:30b"}]}');
  const host = await startWindowHost(
    {
      ...NO_AGENT,
      INGLENOOK_HOST: '127.0.0.1',
      INGLENOOK_LOCAL_ENGINE_URL: engine.url,
      INGLENOOK_HOSTED_B_BASE_URL: REFUSED_URL,
      INGLENOOK_HOSTED_B_LABEL: 'Hosted B',
      INGLENOOK_ONDEMAND_BASE_URL: REFUSED_URL,
      INGLENOOK_FORCE_ZERO: 'true',
      INGLENOOK_ONDEMAND_WARMUP: 'false',
      INGLENOOK_MODEL_ALIASES: 'gpt-*=qwen3:30b',
    },
    directoryWith({ requested: [ASKED] }),
  );
  const page = await openPage(host.controlLink());
  await page.getByText('INGLENOOK_FORCE_ZERO').waitFor();
  await page.getByText('INGLENOOK_ONDEMAND_WARMUP').waitFor();
  const zero = page.getByLabel('Never spend money');
  expect(await zero.isChecked()).toBe(true);
  expect(await zero.isDisabled()).toBe(true);
  expect(await page.getByLabel('Start Rented GPU when').isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /Start now/ }).count()).toBe(0);

  await page.evaluate(() => void (location.hash = '#/models'));
  await page.getByText('INGLENOOK_MODEL_ALIASES is set in the environment').waitFor();
  expect(await page.getByRole('combobox', { name: 'Send gpt-4o' }).isDisabled()).toBe(true);
  await page.getByText('qwen3:30b (by a pattern)').waitFor({ state: 'attached' });

  await page.evaluate(() => void (location.hash = '#/settings/hosted_b'));
  const hosted = page
    .locator('.settings-section')
    .filter({ has: page.getByRole('heading', { name: 'Hosted B', exact: true }) });
  await hosted.getByText('Set by INGLENOOK_HOSTED_B_BASE_URL, so it cannot').waitFor();
  for (const name of ['Move up', 'Move down', 'Remove…'])
    expect(await hosted.getByRole('button', { name }).isDisabled()).toBe(true);
  await page.evaluate(() => void (location.hash = '#/settings/sharing'));
  await page.locator('.sharing').getByText('Set by INGLENOOK_HOST;').waitFor();
  expect(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled()).toBe(true);
});
