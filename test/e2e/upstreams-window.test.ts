import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openPage } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import { answers, startUpstream, type Upstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const MODELS = JSON.stringify({ data: [{ id: 'small' }] });

async function startService(): Promise<Upstream> {
  const service = await startUpstream();
  service.script = answers('Hello');
  service.answerGet = ({ res }) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end(MODELS);
  return service;
}

const section = (page: Page, name: string) =>
  page
    .locator('.settings-section')
    .filter({ has: page.getByRole('heading', { name, exact: true }) });

async function openSettings(page: Page, at = ''): Promise<void> {
  await page.evaluate((hash) => void (location.hash = hash), `#/settings${at}`);
  await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
}

test('a hosted upstream moves up and down by keys with its settings, and is removed after a question', async () => {
  const service = await startService();
  const host = await startWindowHost(NO_AGENT);
  const page = await openPage(host.controlLink());
  await page.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await page.getByLabel('Base URL').fill(service.url);
  await page.getByLabel('API key').fill('sk-pasted');
  await page.getByLabel('Name').fill('Mine');
  await page.getByRole('button', { name: 'Save and test' }).click();
  await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
  await openSettings(page, '/hosted_b');
  await page.getByRole('button', { name: /^Choose a service….*Fallback 2/ }).click();
  const adding = page.getByRole('dialog');
  await adding.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await adding.getByLabel('Base URL').fill(service.url);
  await adding.getByLabel('Name').fill('Other');
  await adding.getByRole('button', { name: 'Save and test' }).click();
  await adding.getByText(/Works\./).waitFor();
  await adding.locator('[data-primary]:text("Done")').click();
  await openSettings(page, '/hosted_a');
  const mine = section(page, 'Mine');
  expect(await section(page, 'Fallback 3').count()).toBe(0);
  expect(await mine.getByRole('button', { name: 'Move up Mine' }).isDisabled()).toBe(true);
  await mine.getByRole('button', { name: 'Move down Mine' }).press('Enter');
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.parentElement?.id))
    .toBe('section-hosted_b');
  const down = mine.getByRole('button', { name: 'Move down Mine' });
  await expect.poll(() => down.isDisabled()).toBe(true);
  expect(await faultsOf(page, mine)).toEqual([]);
  await mine.getByRole('button', { name: 'Test' }).click();
  await mine.getByText(/Works\./).waitFor();
  expect(service.calls.at(-1)?.headers.authorization).toBe('Bearer sk-pasted');
  await mine.getByLabel('Name').fill('Not saved');
  expect(await mine.getByRole('button', { name: 'Move up Mine' }).isDisabled()).toBe(true);
  await mine.getByRole('button', { name: 'Discard' }).click();
  await mine.getByRole('button', { name: 'Remove… Mine' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove Mine?' });
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await mine.getByRole('button', { name: 'Remove… Mine' }).click();
  await dialog.getByRole('button', { name: 'Remove Mine' }).click();
  await mine.waitFor({ state: 'detached' });
});

test('the search of settings shows what matches, behind "More" too, and everything again', async () => {
  const page = await openPage((await startWindowHost(NO_AGENT)).controlLink());
  await openSettings(page);
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  const shown = () => page.locator('.field:visible > label').allInnerTexts();
  await search.fill('monthly budget');
  await expect.poll(shown).toEqual(Array.from({ length: 4 }, () => 'Monthly budget'));
  await search.fill('hosted_b timeout');
  await expect.poll(shown).toEqual(['First-token timeout']);
  await search.fill('INGLENOOK_HOSTED_C_MODELS');
  await expect.poll(shown).toEqual(['Other models']);
  await search.fill('no such thing');
  await page.getByText('No setting matches “no such thing”.').waitFor();
  expect(await shown()).toEqual([]);
  await search.fill('');
  await expect.poll(shown).toEqual(['Engine address']);
});
