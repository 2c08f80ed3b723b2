import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { demoStatus, startDemo } from '../support/demo.ts';
import { directoryWith } from '../support/data-directory.ts';
import { openPage, turnTo } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import { answers, lists, REFUSED_URL, startUpstream } from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

const section = (page: Page, name: string) =>
  page
    .locator('.settings-section')
    .filter({ has: page.getByRole('heading', { name, exact: true }) });

const form = (page: Page, name: string) => page.getByRole('form', { name, exact: true });

test('a hosted upstream moves up and down by keys with its settings, and is removed after a question', async () => {
  const service = await startUpstream(answers('Hello'));
  service.answerGet = lists('small');
  const { page } = await openWindowHost();
  await page.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await page.getByLabel('Base URL').fill(service.url);
  await page.getByLabel('API key').fill('sk-pasted');
  await page.getByLabel('Name').fill('Mine');
  await page.getByRole('button', { name: 'Save and test' }).click();
  await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
  await turnTo(page, '#/settings/hosted_b');
  await page.getByRole('button', { name: /^Choose a service….*Fallback 2/ }).click();
  const adding = page.getByRole('dialog');
  await adding.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await adding.getByLabel('Base URL').fill(service.url);
  await adding.getByLabel('Name').fill('Other');
  await adding.getByRole('button', { name: 'Save and test' }).click();
  await adding.getByText(/Works\./).waitFor();
  await adding.locator('[data-primary]:text("Done")').click();
  await turnTo(page, '#/settings/hosted_a');
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
  const { page } = await openWindowHost();
  await turnTo(page, '#/settings');
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
  await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
  expect(await axeViolations(page)).toEqual([]);
});

test('a setting outlasts a visit to another tab, is in force once saved, and if refused is explained at its field', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.getByRole('link', { name: 'Settings' }).click();
  await turnTo(page, '#/settings/hosted_a');
  await form(page, 'Service A').getByLabel('Name').fill('Groq');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Try it' }).waitFor();
  await page.goBack();
  await form(page, 'Service A').getByRole('button', { name: 'Save' }).click();
  await form(page, 'Groq').getByText('Saved and applied').waitFor();
  expect((await demoStatus(demo)).upstreams[1]?.label).toBe('Groq');
  await page.reload();
  const groq = form(page, 'Groq');
  expect(await groq.getByLabel('Name').inputValue()).toBe('Groq');
  await groq.getByRole('button', { name: /Remove\W+Name/ }).click();
  await groq.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved and applied').waitFor();
  expect((await demoStatus(demo)).upstreams[1]?.label).toMatch(/^127\.0\.0\.1:/);

  await turnTo(page, '#/settings/local');
  const timeout = form(page, 'Your GPUs').getByLabel('First-token timeout');
  await form(page, 'Your GPUs').locator('summary').click();
  await timeout.fill('soon');
  await timeout.press('Enter');
  await page.getByText('“First-token timeout” must be a whole number').waitFor();
  expect(await timeout.getAttribute('aria-invalid')).toBe('true');
  expect(await timeout.evaluate((it) => it === document.activeElement)).toBe(true);
  const note = page.locator(`[id="${await timeout.getAttribute('aria-describedby')}"]`);
  expect(await note.innerText()).toMatch(/whole number/);
  expect((await demoStatus(demo)).config.timeouts.local).toBe(60_000);
  expect(await axeViolations(page, form(page, 'Your GPUs'))).toEqual([]);
  await timeout.fill('45000');
  await timeout.press('Enter');
  await form(page, 'Your GPUs').getByText('Saved and applied').waitFor();
  expect((await demoStatus(demo)).config.timeouts.local).toBe(45_000);
});

test('a key is created in the dashboard, opens the gateway to an app, is limited, and is revoked', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const status = async (key: string) =>
    (await fetch(`${demo.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'Keys for apps' }).click();
  await page.getByText('none: any app on this machine may connect').waitFor();
  await page.getByLabel('Name of the app').fill('my_laptop!');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('alert').getByText('“Name of the app” must be').waitFor();
  await page.getByLabel('Name of the app').fill('my laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const shown = page.getByText(/^sy-[0-9a-f]{64}$/);
  const key = (await shown.textContent()) ?? '';
  expect([await status(key), await status('none')]).toEqual([200, 401]);
  const row = page.getByRole('listitem').filter({ hasText: 'my laptop' });
  await row.getByText(/not used yet|last used/).waitFor();
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
    const path = `${demo.baseUrl}/chat/completions`;
    return (await fetch(path, { method: 'POST', headers, body })).status;
  };
  expect(await ask()).toBe(200);
  await row.getByRole('button', { name: 'Limits for my laptop' }).click();
  await page.getByLabel('Requests per day').fill('1');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await row.getByText(/^Requests per day: 1 of 1 · used up until/).waitFor();
  await page.getByText('1 key; a limit is used up').waitFor();
  expect(await ask()).toBe(429);
  await row.getByRole('button', { name: 'Revoke my laptop' }).click();
  await page.getByText('It is the last one').waitFor();
  await page.getByRole('button', { name: 'Revoke my laptop', exact: true }).last().click();
  await row.waitFor({ state: 'hidden' });
  expect(await shown.count()).toBe(0);
  expect(await status('none')).toBe(200);
});

const ASKED = { name: 'gpt-4o', upstream: '', provider: '', model: '', calls: 17 } as const;

test('what the environment sets is read-only on each page, which says by which variable', async () => {
  const engine = await startUpstream();
  engine.answerGet = lists('qwen3:30b');
  const { page } = await openWindowHost(
    {
      INGLENOOK_HOST: '127.0.0.1',
      INGLENOOK_LOCAL_ENGINE_URL: engine.url,
      INGLENOOK_HOSTED_B_BASE_URL: REFUSED_URL,
      INGLENOOK_HOSTED_B_LABEL: 'Hosted B',
      INGLENOOK_ONDEMAND_BASE_URL: REFUSED_URL,
      INGLENOOK_FORCE_ZERO: 'true',
      INGLENOOK_ONDEMAND_WARMUP: 'false',
      INGLENOOK_MODEL_ALIASES: 'gpt-*=qwen3:30b',
    },
    directoryWith({ requested: [{ ...ASKED, lastAt: Date.now() }] }),
  );
  await page.getByText('INGLENOOK_FORCE_ZERO').waitFor();
  await page.getByText('INGLENOOK_ONDEMAND_WARMUP').waitFor();
  const zero = page.getByLabel('Never spend money');
  expect(await zero.isChecked()).toBe(true);
  expect(await zero.isDisabled()).toBe(true);
  expect(await page.getByLabel('Start Rented GPU when').isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /Start now/ }).count()).toBe(0);

  await turnTo(page, '#/models');
  await page.getByText('INGLENOOK_MODEL_ALIASES is set in the environment').waitFor();
  expect(await page.getByRole('combobox', { name: 'Send gpt-4o' }).isDisabled()).toBe(true);
  await page.getByText('qwen3:30b (by a pattern)').waitFor({ state: 'attached' });

  await turnTo(page, '#/settings/hosted_b');
  const hosted = section(page, 'Hosted B');
  await hosted.getByText('Set by INGLENOOK_HOSTED_B_BASE_URL, so it cannot').waitFor();
  for (const name of ['Move up', 'Move down', 'Remove…'])
    expect(await hosted.getByRole('button', { name }).isDisabled()).toBe(true);
  await turnTo(page, '#/settings/sharing');
  await page.locator('.sharing').getByText('Set by INGLENOOK_HOST;').waitFor();
  expect(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled()).toBe(true);
});
