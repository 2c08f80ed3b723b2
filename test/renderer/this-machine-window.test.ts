import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import type { HostActivity } from '../../main/agent/availability/host-activity.ts';
import type { Host } from '../../main/app/app.ts';
import { listed, startEngine } from '../agent/fake-engine.ts';
import { startScripted } from '../agent/memory/scripted-engines.ts';
import { axeViolations } from '../support/browser.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { openPage, turnTo } from '../support/page.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

async function openProviders(host: Host): Promise<Page> {
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  return page;
}

const panelOf = (page: Page) => page.getByRole('region', { name: /^This machine/ });

/** Whatever this machine has, the page hears that its engine is here and a GPU is not. */
async function withoutGpu(page: Page, engineUrl: string): Promise<void> {
  await page.route('**/api/v1/agent', async (route) => {
    const response = await route.fetch();
    const view = (await response.json()) as AgentView;
    const { engine } = view;
    const health = { status: 'ok', code: 200 } as const;
    const found = { kind: 'ollama', baseUrl: engineUrl, models: [], currentModel: null, health };
    const told = { ...view, engine: { ...found, ...engine, health }, useEngineDirectly: engineUrl };
    await route.fulfill({ response, json: told });
  });
  // The page goes on asking when the host is gone.
  onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
}

test('the owner holds back and resumes this machine, loads a model, frees the memory and takes it back, which a reader only sees', async () => {
  const engine = await startScripted('ollama', ['small']);
  const host = await startWindowHost({ INGLENOOK_ENGINE_URL: engine.url });
  const page = await openProviders(host);
  const panel = panelOf(page);
  const pause = panel.getByRole('button', { name: 'Hold back this machine', exact: true });
  await pause.click();
  await panel.getByText(/^Held back by you/).waitFor();
  const title = panel.getByRole('heading', { level: 2 });
  await expect.poll(() => title.evaluate((it) => it === document.activeElement)).toBe(true);
  const resume = panel.getByRole('button', { name: 'Resume this machine' });
  const drain = panel.getByRole('button', { name: 'Finish, then hold back this machine' });
  await resume.click();
  await drain.waitFor();

  await panel.getByText('1 model not in memory').click();
  await panel.getByRole('button', { name: 'Load large' }).click();
  await panel.getByRole('button', { name: 'Unload large' }).waitFor();
  expect([...engine.loaded]).toEqual(['small', 'large']);
  await panel.getByRole('button', { name: 'Free it for 2 h' }).click();
  await panel.getByText(/^Its memory is freed by you until \d/).waitFor();
  await panel.getByText('“Resume” first loads small and large.').waitFor();
  expect([...engine.loaded]).toEqual([]);
  expect(await axeViolations(page, panel)).toEqual([]);
  await resume.click();
  await drain.waitFor();
  expect([...engine.loaded]).toEqual(['small', 'large']);

  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await pause.waitFor();
  expect(await pause.isDisabled()).toBe(true);
});

test('a machine without a GPU that nobody added is neither listed nor reported as missing, and its engine is used in one step', async () => {
  const engine = await startEngine({ '/v1/models': listed('library', 'qwen3:8b') });
  const host = await startWindowHost({ INGLENOOK_ENGINE_URL: engine.url });
  const page = await openPage(host.controlLink());
  await withoutGpu(page, engine.url);
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  const panel = panelOf(page);
  await panel.waitFor();
  await expect.poll(() => host.machine()).toBe('on');
  expect(await page.getByText('check failed', { exact: true }).count()).toBe(0);
  const { judgement, providers, status } = host.snapshot();
  expect(judgement.verdict).toEqual({ kind: 'bare' });
  expect([providers?.count, status.local.failed_count]).toEqual([0, 0]);

  await panel.getByRole('button', { name: 'Use this engine' }).click();
  await panel.getByText('used directly').waitFor();
  const local = host.snapshot().status.upstreams.find(({ id }) => id === 'local');
  expect(local?.baseUrl).toBe(engine.url);
  await panel.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { level: 1, name: /your GPUs/ }).waitFor();
});

test('an agent that is switched off is read once, also on the next visit', async () => {
  const host = await startWindowHost(NO_AGENT);
  const page = await openPage(host.controlLink(), { isOwn: true });
  await page.clock.install();
  let asked = 0;
  page.on('request', (request) => (asked += request.url().endsWith('/api/v1/agent') ? 1 : 0));
  for (const name of ['Machines', 'Requests', 'Machines']) {
    await page.getByRole('link', { name, exact: true }).click();
    if (name === 'Machines')
      await panelOf(page)
        .getByText(/INGLENOOK_AGENT/)
        .waitFor();
    // Longer than between two looks, shorter than the feed may be silent.
    await page.clock.runFor(6_000);
  }
  // The first page may have asked before this test could count.
  expect(asked).toBeLessThan(2);
});

/** The machine tells what it runs on, and nothing else. */
const hostActivity: HostActivity = {
  userIdleMs: () => Promise.resolve(null),
  isOnBattery: () => Promise.resolve(true),
};

/** The pill beside the machine's name. */
const standing = (page: Page, word: string) =>
  page.getByRole('heading', { name: `This machine ${word}` });

test('an owner rule takes effect as soon as it is switched, a wrong limit is explained, and what cannot be judged is not offered', async () => {
  const environment = {
    INGLENOOK_ENGINE_URL: 'http://127.0.0.1:1',
    INGLENOOK_AGENT_ONLY_WHEN_IDLE: 'true',
  };
  const page = await openProviders(
    await startWindowHost(environment, temporaryDirectory(), { hostActivity }),
  );
  const rules = page.getByRole('region', { name: 'Hold back automatically' });
  await rules.getByText('It has no effect here: this machine does not report when').waitFor();
  expect(await rules.getByLabel('Hold back at a GPU temperature').count()).toBe(0);

  const battery = rules.getByLabel('Hold back on battery');
  expect(await battery.isChecked()).toBe(false);
  await battery.check();
  await standing(page, 'held back').waitFor();
  await page.getByText('This machine runs on battery.').waitFor();
  await page.reload();
  expect(await battery.isChecked()).toBe(true);
  await battery.uncheck();
  await standing(page, 'held back').waitFor({ state: 'detached' });

  const limit = rules.getByLabel('Time in minutes');
  expect(await limit.isDisabled()).toBe(true);
  await rules.getByLabel('Unload idle models').check();
  await expect.poll(() => limit.isEnabled()).toBe(true);
  expect(await limit.inputValue()).toBe('30');
  await limit.fill('soon');
  await limit.press('Enter');
  const objection = rules.getByRole('alert').getByText(/a number of minutes/);
  await objection.waitFor();
  expect(await limit.getAttribute('aria-invalid')).toBe('true');
  expect(await limit.inputValue()).toBe('30');
  expect(await axeViolations(page, rules)).toEqual([]);
  await limit.fill('72');
  await limit.blur();
  await objection.waitFor({ state: 'detached' });
  await turnTo(page, '#/settings/agent');
  const field = page.getByRole('form', { name: 'This machine' }).getByLabel('Unload idle models');
  // The objection goes as soon as the limit is sent; the page of settings follows the gateway's answer.
  await expect.poll(() => field.inputValue()).toBe('72');
});
