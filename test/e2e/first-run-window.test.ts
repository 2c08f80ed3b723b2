import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startModelServer } from '../support/agent.ts';
import { axeViolations } from '../support/browser.ts';
import { openPage } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import {
  answers,
  chunk,
  error,
  REFUSED_URL,
  stall,
  startUpstream,
  type Upstream,
} from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const startWindow = (environment: Readonly<Record<string, string>> = {}) =>
  startWindowHost({ ...NO_AGENT, ...environment });

const MODELS = JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] });

/** A service with two models that answers what it is told to. */
async function startService(script = answers('Hello from the service')): Promise<Upstream> {
  const service = await startUpstream();
  service.script = script;
  service.answerGet = ({ res }) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end(MODELS);
  return service;
}

const station = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function isFocused(field: Locator): Promise<void> {
  await expect.poll(() => field.evaluate((it) => it === document.activeElement)).toBe(true);
}

describe('first starts, with nothing configured', () => {
  test('a first start leads to an answered message over a hosted API in four clicks, without shell or restart', async () => {
    const service = await startService();
    const page = await openPage((await startWindow()).controlLink());
    let clicks = 0;
    const click = async (doing: Promise<unknown>) => {
      clicks += 1;
      await doing;
    };
    await page.getByRole('heading', { name: 'Connect your first model' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await click(page.getByLabel('Service').selectOption('Another OpenAI-compatible API'));
    await page.getByLabel('Base URL').fill(service.url.replace('http://', ''));
    await page.getByLabel('API key').fill('sk-pasted');
    await click(page.getByRole('combobox', { name: 'Model' }).selectOption('large'));
    await click(page.getByRole('button', { name: 'Save and test' }).click());
    await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
    await station(page, new URL(service.url).host).getByText('serving').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await click(page.getByRole('link', { name: 'Send a first message' }).click());
    await isFocused(page.getByRole('textbox', { name: 'Prompt' }));
    await page.keyboard.type('Hello');
    await page.keyboard.press('Enter');
    await page.getByText('Hello from the service').waitFor();
    expect(clicks).toBe(4);
    expect(service.calls.at(-1)?.json).toMatchObject({ model: 'large' });
    expect(service.calls.at(-1)?.headers.authorization).toBe('Bearer sk-pasted');
  });

  test('a first start offers the engine of a machine without a GPU, and Enter goes on from there', async () => {
    const engine = await startModelServer(answers('Hello from the engine'));
    const settings = { INGLENOOK_AGENT: 'true', INGLENOOK_ENGINE_URL: engine.url };
    const page = await openPage((await startWindow(settings)).controlLink());
    await page.getByText('Nothing is set up yet.').waitFor();
    await page.getByText(/No GPU was found/).waitFor();
    await page.getByRole('button', { name: /Use this engine/ }).click();
    await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
    await page.getByRole('link', { name: 'Send a first message' }).press('Enter');
    await isFocused(page.getByRole('textbox', { name: 'Prompt' }));
    await page.keyboard.type('Hello');
    await page.keyboard.press('Enter');
    await page.getByText('Hello from the engine').waitFor();
    const message = { role: 'user', content: 'Hello' };
    expect(engine.calls.at(-1)?.json['messages']).toEqual([message]);
  });

  test('a first start shows why a service does not list its models, and lets one be named', async () => {
    const service = await startService();
    service.answerGet = ({ res }) => void res.writeHead(404).end();
    const page = await openPage((await startWindow()).controlLink());
    await page.getByLabel('Service').selectOption('Another OpenAI-compatible API');
    await page.getByLabel('Base URL').fill(service.url);
    await page.getByText(/without a list of models/).waitFor();
    const save = page.getByRole('button', { name: 'Save and test' });
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Model' }).fill('by-hand');
    await save.click();
    await page.getByRole('heading', { name: 'Point an app at it' }).waitFor();
    expect(service.calls[0]?.json).toMatchObject({ model: 'by-hand' });
  });
});

describe('upstreams in the dashboard', () => {
  test('an upstream is tested at its card, and a paid one is not while no money may be spent', async () => {
    const service = await startService(error(401, 'Incorrect API key provided'));
    const host = await startWindow({
      INGLENOOK_LOCAL_ENGINE_URL: REFUSED_URL,
      INGLENOOK_HOSTED_A_BASE_URL: service.url,
      INGLENOOK_HOSTED_A_MODEL: 'large',
      INGLENOOK_HOSTED_A_LABEL: 'Hosted A',
    });
    const page = await openPage(host.controlLink());
    const card = station(page, 'Hosted A');
    await card.getByRole('button', { name: 'Test Hosted A' }).click();
    await card.getByText('Incorrect API key provided').waitFor();
    expect(host.snapshot().status.circuits['hosted_a']?.fails).toBe(0);
    await page.getByLabel('Never spend money').check();
    await card.getByText('switched off').waitFor();
    await card.getByRole('button', { name: 'Test Hosted A' }).click();
    await card.getByText(/Not tested\..*cost money/).waitFor();
    expect(service.calls).toHaveLength(1);
    expect(await axeViolations(page)).toEqual([]);
  });
});

describe('a prompt tried in the dashboard', () => {
  async function openOverview(script = answers('First answer'), settings = {}) {
    const service = await startService(script);
    const host = await startWindow({
      INGLENOOK_LOCAL_ENGINE_URL: REFUSED_URL,
      INGLENOOK_HOSTED_A_BASE_URL: service.url,
      INGLENOOK_HOSTED_A_MODEL: 'large',
      INGLENOOK_HOSTED_A_LABEL: 'Hosted A',
      ...settings,
    });
    const page = await openPage(host.controlLink());
    const prompt = page.getByRole('textbox', { name: 'Prompt' });
    await prompt.fill('Hello');
    await prompt.press('Enter');
    return { host, service, page };
  }

  test('a tried prompt shows who answered and why, leads to its request, and is stored nowhere', async () => {
    const { host, service, page } = await openOverview();
    await page.getByText('First answer').waitFor();
    await page.getByText('Answered by Hosted A with large. Your GPUs were unreachable.').waitFor();
    expect(service.calls[0]?.json['messages']).toEqual([{ role: 'user', content: 'Hello' }]);
    expect(await faultsOf(page)).toEqual([]);
    const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    expect(stored).not.toMatch(/answer|Hello/);
    const { id } = host.snapshot().requests[0] ?? { id: '' };
    await page.getByRole('link', { name: 'See the request' }).click();
    await page.getByRole('dialog').getByText(id).first().waitFor();
  });

  test('a tried prompt is stopped by its button, and with it the call to the upstream', async () => {
    const { service, page } = await openOverview(stall(chunk({ content: 'It begins' })));
    await page.getByText('It begins').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await service.calls[0]?.gone;
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(service.calls).toHaveLength(1);
  });

  test('a tried prompt that nobody answers shows the error in words', async () => {
    const { page } = await openOverview(error(500, 'broken'));
    await page
      .getByText(/No upstream answered\..*HTTP 500/)
      .first()
      .waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });
});
