import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { StatusReport } from '#shared/status.ts';
import { axeViolations } from '../support/browser.ts';
import { startDemo, type RunningDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';

/** Asks once; answers who served and why others did not. */
async function ask(demo: RunningDemo): Promise<string> {
  const response = await fetch(`${demo.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }),
  });
  await response.arrayBuffer();
  const { headers } = response;
  return `${headers.get('x-gateway-upstream')}: ${headers.get('x-gateway-fallback-reason')}`;
}

async function statusOf(demo: RunningDemo): Promise<StatusReport> {
  const response = await fetch(new URL('/api/v1/status', demo.baseUrl));
  return (await response.json()) as StatusReport;
}

const station = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

const section = (page: Page, name: string) => page.getByRole('form', { name, exact: true });

/** Opens the settings of an upstream or a rule. */
async function openSettings(demo: RunningDemo, hash: string): Promise<Page> {
  const page = await openPage(demo.link);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.evaluate((next) => {
    location.hash = next;
  }, hash);
  return page;
}

describe('upstreams under control', () => {
  test('a source that is paused counts down in the dashboard, and its button ends the pause', async () => {
    const demo = await startDemo();
    // Open before the minute begins that is counted down.
    const page = await openPage(demo.link);
    await demo.break('local');
    await Promise.all([1, 2, 3, 4, 5].map(() => ask(demo)));
    expect(await ask(demo)).toBe('hosted_a: local=circuit_open');
    const local = station(page, 'Your GPUs');
    await local.getByText(/tried again in (1 min 00|\d+) s/).waitFor();
    await demo.heal('local');
    await local.getByRole('button', { name: 'Try again now Your GPUs' }).click();
    await local.getByText('serving').waitFor();
    await local
      .getByRole('button', { name: 'Try again now Your GPUs' })
      .waitFor({ state: 'detached' });
    expect(await local.getByRole('heading').evaluate((it) => it === document.activeElement)).toBe(
      true,
    );
    expect(await ask(demo)).toBe('local: none');
  });

  test('the switch for never spending money keeps requests from all other upstreams', async () => {
    const demo = await startDemo();
    const page = await openPage(demo.link);
    await page.getByLabel('Never spend money').check();
    await station(page, 'Service A').getByText('switched off').waitFor();
    expect(await page.getByText('switched off', { exact: true }).count()).toBe(4);
    expect((await statusOf(demo)).forceZero).toBe(true);
    await demo.break('local');
    expect(await ask(demo)).toMatch(/hosted_a=zero_spend/);
  });

  test('a rented GPU starts at once, and its automatic start can be switched off', async () => {
    const demo = await startDemo();
    const page = await openPage(demo.link);
    const last = station(page, 'Rented GPU');
    await page.getByLabel('Start Rented GPU when your GPUs fail').uncheck();
    await page.getByText('It starts only when a request reaches it.').waitFor();
    expect((await statusOf(demo)).config.description).toMatch(
      /warm-up of ondemand is switched off/,
    );
    await demo.break('ondemand', '500');
    await last.getByRole('button', { name: /Start now/ }).click();
    await last.getByText('starting', { exact: true }).waitFor();
    expect(await last.getByRole('button', { name: /Start now/ }).count()).toBe(0);
  });

  test('a page without control gives a reason instead of an effect', async () => {
    const demo = await startDemo();
    await demo.break('local');
    for (let asked = 0; asked < 5; asked += 1) await ask(demo);
    const page = await openPage(new URL('/', demo.link).href);
    const reset = page.getByRole('button', { name: 'Try again now Your GPUs' });
    await reset.waitFor();
    expect(await reset.isDisabled()).toBe(true);
    expect(await page.getByLabel('Never spend money').isDisabled()).toBe(true);
    const described = await reset.getAttribute('aria-describedby');
    const note = page.locator(`#${described}`);
    expect(await note.innerText()).toMatch(/This page is read-only/);
    await note.getByRole('button', { name: 'Sign in' }).click();
    await note.getByText('Open the link that the demo has printed').waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText(/Sign in to view and change settings/).waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  });
});

describe('settings under control', () => {
  test('a saved setting is in force, and there after a reload', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/hosted_a');
    await section(page, 'Service A').getByLabel('Name').fill('Groq');
    await section(page, 'Service A').getByRole('button', { name: 'Save' }).click();
    await section(page, 'Groq').getByText('Saved and applied').waitFor();
    expect((await statusOf(demo)).upstreams[1]?.label).toBe('Groq');
    await page.reload();
    const form = section(page, 'Groq');
    expect(await form.getByLabel('Name').inputValue()).toBe('Groq');
    await form.getByRole('button', { name: /Remove\W+Name/ }).click();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved and applied').waitFor();
    expect((await statusOf(demo)).upstreams[1]?.label).toMatch(/^127\.0\.0\.1:/);
  });

  test('a setting that takes a restart says so, where it is set and once it is saved', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/gateway');
    const form = section(page, 'Gateway');
    const host = form.getByLabel('Listen on');
    const note = page.locator(`[id="${await host.getAttribute('aria-describedby')}"]`);
    expect(await note.innerText()).toMatch(/Takes effect after a restart/);
    await host.fill('localhost');
    await host.press('Enter');
    await form.getByText('Saved; takes effect after a restart').waitFor();
    await form.getByLabel('Largest request').fill('1000000');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Saved and applied').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  test('a refused value is explained at its field, and the rest is not saved', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/local');
    const timeout = section(page, 'Your GPUs').getByLabel('First-token timeout');
    await section(page, 'Your GPUs').getByText('More').click();
    await timeout.fill('soon');
    await timeout.press('Enter');
    await page.getByText('“First-token timeout” must be a whole number').waitFor();
    expect(await timeout.getAttribute('aria-invalid')).toBe('true');
    expect(await timeout.evaluate((it) => it === document.activeElement)).toBe(true);
    const note = page.locator(`[id="${await timeout.getAttribute('aria-describedby')}"]`);
    expect(await note.innerText()).toMatch(/whole number/);
    expect((await statusOf(demo)).config.timeouts.local).toBe(60_000);
    await timeout.fill('45000');
    await timeout.press('Enter');
    await page.getByText('Saved and applied').waitFor();
    expect((await statusOf(demo)).config.timeouts.local).toBe(45_000);
  });

  test('a setting of the environment is named and cannot be edited', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/hosted_b');
    const form = section(page, 'Service B');
    const key = form.getByLabel('API key');
    await form.getByText('INGLENOOK_HOSTED_B_API_KEY').waitFor();
    expect(await key.getAttribute('readonly')).not.toBeNull();
    expect(await key.inputValue()).toBe('');
    expect(await key.getAttribute('placeholder')).toMatch(/^dem….{4}$/);
  });

  test('a visit to another tab does not lose what was entered', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/hosted_a');
    await section(page, 'Service A').getByLabel('Name').fill('Gro');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.goBack();
    expect(await section(page, 'Service A').getByLabel('Name').inputValue()).toBe('Gro');
  });

  test('the settings fit, with axe finding nothing wrong, also while a value is refused', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/ondemand');
    for (const name of ['Service A', 'Skip what fails', 'Routing']) {
      await page.getByRole('heading', { name, exact: true }).click();
      await section(page, name).waitFor();
    }
    const form = section(page, 'Rented GPU');
    await form.getByText('More').click();
    await form.getByLabel('First-token timeout').fill('0');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('“First-token timeout” must be').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});
