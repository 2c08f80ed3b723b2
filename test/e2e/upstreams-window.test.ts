import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { openPage } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import { controlOf } from '../support/tier.ts';
import { answers, REFUSED_URL, startUpstream, type Upstream } from '../support/upstream.ts';
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

/** Chooses a service of one's own in the form of the first run. */
async function fillForm(page: Page, url: string): Promise<void> {
  await page.getByLabel('Service').selectOption('Another OpenAI-compatible API');
  await page.getByLabel('Base URL').fill(url);
}

async function openSettings(page: Page, at = ''): Promise<void> {
  await page.evaluate((hash) => void (location.hash = hash), `#/settings${at}`);
  await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
}

describe('hosted upstreams in the settings', () => {
  test('a hosted upstream moves up and down by keys with its settings, and is removed after a question', async () => {
    const service = await startService();
    const host = await startWindowHost(NO_AGENT);
    const page = await openPage(host.controlLink());
    await fillForm(page, service.url);
    await page.getByLabel('API key').fill('sk-pasted');
    await page.getByLabel('Name').fill('Mine');
    await page.getByRole('button', { name: 'Save and test' }).click();
    await page.getByText(/Works\./).waitFor();
    await openSettings(page, '/hosted_a');
    const [mine, hostedB] = [section(page, 'Mine'), section(page, 'Hosted B')];
    expect(await mine.getByRole('button', { name: 'Move up Mine' }).isDisabled()).toBe(true);
    await mine.getByRole('button', { name: 'Move down Mine' }).press('Enter');
    await section(page, 'Hosted A').waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.parentElement?.id))
      .toBe('section-hosted_b');
    expect(await hostedB.count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
    await mine.getByRole('button', { name: 'Test' }).click();
    await mine.getByText(/Works\./).waitFor();
    expect(service.calls.at(-1)?.headers.authorization).toBe('Bearer sk-pasted');
    await mine.getByLabel('Name').fill('Not saved');
    expect(await mine.getByRole('button', { name: 'Move up Mine' }).isDisabled()).toBe(true);
    await mine.getByRole('button', { name: 'Discard' }).click();
    await mine.getByRole('button', { name: 'Remove… Mine' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove Mine?' });
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    await mine.getByRole('button', { name: 'Remove… Mine' }).click();
    await dialog.getByRole('button', { name: 'Remove Mine' }).click();
    await hostedB.getByText('not set up').waitFor();
    expect(await hostedB.getByRole('button', { name: /Remove…/ }).count()).toBe(0);
  });

  test('a hosted upstream of the environment cannot be moved, and the page names the variable', async () => {
    const host = await startWindowHost({ ...NO_AGENT, INGLENOOK_HOSTED_B_BASE_URL: REFUSED_URL });
    const page = await openPage(host.controlLink());
    await openSettings(page, '/hosted_b');
    const hosted = section(page, 'Hosted B');
    await hosted.getByText('Set by INGLENOOK_HOSTED_B_BASE_URL, so it cannot').waitFor();
    for (const name of ['Move up', 'Move down', 'Remove…'])
      expect(await hosted.getByRole('button', { name }).isDisabled()).toBe(true);
  });
});

describe('hosted upstreams that are dragged', () => {
  const names = (page: Page) => page.locator('[id^="section-hosted_"] summary h2').allInnerTexts();

  async function started(saved: object, environment: Readonly<Record<string, string>> = {}) {
    const dataDirectory = temporaryDirectory();
    const host = await startWindowHost({ ...NO_AGENT, ...environment }, {}, dataDirectory);
    const link = host.controlLink();
    const { patch } = controlOf({ url: new URL(link).origin, dataDirectory, host });
    expect((await patch(saved)).status).toBe(200);
    const page = await openPage(link, { viewport: { width: 1280, height: 1000 } });
    await openSettings(page);
    return page;
  }

  const at = (label: string) => ({ baseUrl: REFUSED_URL, label });

  /** Takes hold of one and moves the pointer below the other, or above it; it is not let go. */
  async function drag(page: Page, name: string, side: 'above' | 'below', other: string) {
    await section(page, name).locator('.drag-handle').hover();
    await page.mouse.down();
    const box = await section(page, other).boundingBox();
    if (box === null) throw new Error(other);
    const y = side === 'above' ? box.y + 4 : box.y + box.height - 4;
    await page.mouse.move(box.x + 300, y, { steps: 4 });
  }

  test('a dragged upstream is dropped at another place, and those between move up or down by one', async () => {
    const page = await started({ hosted_a: at('One'), hosted_b: at('Two'), hosted_c: at('Three') });
    await drag(page, 'One', 'below', 'Three');
    await section(page, 'Three').and(page.locator('[data-drop=below]')).waitFor();
    await page.mouse.up();
    await expect.poll(() => names(page)).toEqual(['Two', 'Three', 'One']);
    expect(await page.locator('[data-dragged], [data-drop]').count()).toBe(0);
    await drag(page, 'One', 'above', 'Three');
    await page.mouse.up();
    await expect.poll(() => names(page)).toEqual(['Two', 'One', 'Three']);
    await page.reload();
    await expect.poll(() => names(page)).toEqual(['Two', 'One', 'Three']);
    // A click on the handle opens nothing.
    await section(page, 'One').locator('.drag-handle').click();
    expect(await section(page, 'One').getAttribute('open')).toBeNull();
    expect(await faultsOf(page)).toEqual([]);
  });

  test('a dragged upstream stays where it was after Escape', async () => {
    const page = await started({ hosted_a: at('One'), hosted_b: at('Two') });
    await drag(page, 'One', 'below', 'Two');
    await page.locator('[data-dragged]').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('[data-dragged]').waitFor({ state: 'detached' });
    await page.mouse.up();
    expect(await names(page)).toEqual(['One', 'Two', 'Hosted C']);
  });

  test('a dragged upstream moves to an empty place, and not past one that the environment sets up', async () => {
    const page = await started(
      { hosted_a: at('One') },
      { INGLENOOK_HOSTED_C_BASE_URL: REFUSED_URL, INGLENOOK_HOSTED_C_LABEL: 'Fixed' },
    );
    // An empty place and one of the environment have nothing to take hold of.
    expect(await page.locator('.drag-handle').count()).toBe(1);
    await drag(page, 'One', 'below', 'Fixed');
    await section(page, 'Hosted B').and(page.locator('[data-drop=below]')).waitFor();
    await page.mouse.up();
    await expect.poll(() => names(page)).toEqual(['Hosted A', 'One', 'Fixed']);
  });
});

describe('the form of a hosted upstream', () => {
  test('the form of a hosted upstream names it by host and port, and saves a price', async () => {
    const service = await startService();
    const host = await startWindowHost(NO_AGENT);
    const page = await openPage(host.controlLink());
    await fillForm(page, service.url);
    await page.getByRole('button', { name: 'Save and test' }).click();
    const { host: name } = new URL(service.url);
    await page.getByRole('heading', { name: `Serving from ${name}` }).waitFor();
    await openSettings(page, '/hosted_a');
    await section(page, name)
      .getByRole('button', { name: /^Choose a service…/ })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Service').selectOption('Another OpenAI-compatible API');
    await dialog.getByLabel('Base URL').fill(service.url);
    await dialog.getByLabel('Output price').fill('a lot');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText(/“Output price” must be/).waitFor();
    await dialog.getByLabel('Output price').fill('0,60');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText(/Works\./).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(() => section(page, name).getByLabel('Output price').inputValue())
      .toBe('0.6');
  });

  test('the form of a hosted upstream fills in what a known service lists for a model, says so, and leaves the price to the owner', async () => {
    const host = await startWindowHost(NO_AGENT);
    const page = await openPage(host.controlLink());
    // No test may call the service, so its list of models and the test of the key are answered here.
    const models = ['gpt-4o-mini-2024-07-18', 'gpt-5.4-mini', 'gpt-unheard-of'];
    await page.route('**/upstreams/hosted_a/models', (route) =>
      route.fulfill({ json: { models } }),
    );
    const works = { ok: true, model: 'm', provider: null, ttftMs: 9, totalMs: 9 };
    const tokens = { promptTokens: null, completionTokens: null };
    await page.route('**/upstreams/hosted_a/test', (route) =>
      route.fulfill({ json: { ...works, ...tokens } }),
    );
    await page.getByLabel('Service').selectOption('OpenAI');
    await page.getByLabel('API key').fill('sk-pasted');
    const model = page.getByRole('combobox', { name: 'Model' });
    const prices = () =>
      Promise.all(
        ['Input price', 'Output price'].map((name) => page.getByLabel(name).inputValue()),
      );
    await model.selectOption('gpt-5.4-mini');
    expect(await prices()).toEqual(['0.75', '4.5']);
    const note = page.getByText('As listed on 2 Jul 2026 (models.dev); cached input 0.075.');
    await note.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await model.selectOption('gpt-unheard-of');
    expect(await prices()).toEqual(['', '']);
    expect(await note.count()).toBe(0);
    await model.selectOption('gpt-4o-mini-2024-07-18');
    expect(await prices()).toEqual(['0.15', '0.6']);
    await page.getByRole('button', { name: 'Save and test' }).click();
    await page.getByRole('heading', { name: 'Your first model works' }).waitFor();
    await openSettings(page, '/hosted_a');
    const saved = section(page, 'OpenAI');
    await saved.getByText('More', { exact: false }).first().click();
    await expect.poll(() => saved.getByLabel('Cached input price').inputValue()).toBe('0.075');
    expect(await saved.getByLabel('Input price', { exact: true }).inputValue()).toBe('0.15');
    await saved.getByRole('button', { name: /^Choose a service…/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Service').selectOption('OpenAI');
    await dialog.getByLabel('API key').fill('sk-pasted');
    await dialog.getByRole('combobox', { name: 'Model' }).selectOption('gpt-5.4-mini');
    await dialog.getByLabel('Output price').fill('3');
    await dialog.getByText(/As listed/).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await dialog.getByText(/Works\./).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(() => saved.getByLabel('Output price', { exact: true }).inputValue())
      .toBe('3');
  });

  test('a key that was typed for one service is not sent to another that is chosen after it', async () => {
    const host = await startWindowHost(NO_AGENT);
    const page = await openPage(host.controlLink());
    await page.getByLabel('Service').selectOption('OpenAI');
    await page.getByLabel('API key').fill('sk-of-openai');
    await page.getByLabel('Service').selectOption('Groq');
    await page.getByText('sent only to https://api.groq.com/openai/v1').waitFor();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
  });

  test('the form of a hosted upstream offers no list price where the owner counts in another currency', async () => {
    const host = await startWindowHost({ ...NO_AGENT, INGLENOOK_CURRENCY: 'EUR' });
    const page = await openPage(host.controlLink());
    await page.route('**/upstreams/hosted_a/models', (route) =>
      route.fulfill({ json: { models: ['gpt-5.4', 'gpt-5.4-mini'] } }),
    );
    await page.getByLabel('Service').selectOption('OpenAI');
    await page.getByLabel('API key').fill('sk-pasted');
    await page.getByRole('combobox', { name: 'Model' }).selectOption('gpt-5.4');
    expect(await page.getByLabel('Input price').inputValue()).toBe('');
    expect(await page.getByText(/As listed/).count()).toBe(0);
  });

  test('the form of a hosted upstream says in its own words what is wrong, and tries again', async () => {
    const service = await startService();
    await service.close();
    const page = await openPage((await startWindowHost(NO_AGENT)).controlLink());
    await fillForm(page, 'ftp://nowhere');
    await page.getByText(/“Base URL” must be an http/).waitFor();
    await page.getByLabel('Base URL').fill(service.url);
    await page.getByText(`nothing listens at ${new URL(service.url).host}`).waitFor();
    await service.reopen();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('combobox', { name: 'Model' }).waitFor();
    await service.close();
    await page.getByRole('button', { name: 'Save and test' }).click();
    await page.getByText(/Failed: unreachable/).waitFor();
    await service.reopen();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText(/Works\./).waitFor();
    expect(await page.getByText("'baseUrl'").count()).toBe(0);
  });
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
  expect(await axeViolations(page)).toEqual([]);
  await search.fill('no such thing');
  await page.getByText('No setting matches “no such thing”.').waitFor();
  expect(await shown()).toEqual([]);
  await search.fill('');
  await expect.poll(shown).toEqual(['Engine address']);
});

test('the arrow of "More" points down only once it is open', async () => {
  const page = await openPage((await startWindowHost(NO_AGENT)).controlLink());
  await openSettings(page, '/local');
  const more = section(page, 'Your GPUs (Local)').locator('.more-fields > summary');
  const arrow = () => more.evaluate((it) => getComputedStyle(it, '::before').rotate);
  await more.waitFor();
  expect(await arrow()).toBe('-45deg');
  await more.click();
  expect(await arrow()).toBe('45deg');
});
