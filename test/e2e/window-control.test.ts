import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { StatusReport } from '#shared/status.ts';
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
});

describe('settings under control', () => {
  test('what was entered outlasts a visit to another tab, and once saved is in force, also after a reload', async () => {
    const demo = await startDemo();
    const page = await openSettings(demo, '#/settings/hosted_a');
    await section(page, 'Service A').getByLabel('Name').fill('Groq');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.goBack();
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
    expect(await faultsOf(page)).toEqual([]);
    await timeout.fill('45000');
    await timeout.press('Enter');
    await page.getByText('Saved and applied').waitFor();
    expect((await statusOf(demo)).config.timeouts.local).toBe(45_000);
  });
});
