import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { HostActivity } from '../../main/agent/availability/host-activity.ts';
import type { Host } from '../../main/app/app.ts';
import { axeViolations } from '../support/browser.ts';
import { openPage } from '../support/page.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { startWindowHost } from '../support/window-host.ts';

/** A gateway whose machine tells what it runs on, and nothing else. */
function startMachine(environment: Readonly<Record<string, string>> = {}): Promise<Host> {
  const hostActivity: HostActivity = {
    userIdleMs: () => Promise.resolve(null),
    isOnBattery: () => Promise.resolve(true),
  };
  const engine = { INGLENOOK_ENGINE_URL: 'http://127.0.0.1:1' };
  return startWindowHost({ ...engine, ...environment }, temporaryDirectory(), { hostActivity });
}

async function openRules(link: string) {
  const page = await openPage(link);
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  const rules = page.getByRole('region', { name: 'Automatic pause' });
  await rules.waitFor();
  return { page, rules };
}

/** The pill beside the machine's name. */
const standing = (page: Page, word: string) =>
  page.getByRole('heading', { name: `This machine ${word}` });

test('an owner rule takes effect as soon as it is switched, and says what it did', async () => {
  const { page, rules } = await openRules((await startMachine()).controlLink());
  const battery = rules.getByLabel('Pause on battery');
  expect(await battery.isChecked()).toBe(false);
  await battery.check();
  await standing(page, 'held back').waitFor();
  await page.getByText('This machine runs on battery.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.reload();
  expect(await battery.isChecked()).toBe(true);
  await battery.uncheck();
  await standing(page, 'held back').waitFor({ state: 'detached' });
});

test('a limit is entered next to its switch, and a wrong one is explained', async () => {
  const host = await startMachine();
  const { page, rules } = await openRules(host.controlLink());
  const limit = rules.getByLabel('Time in minutes');
  expect(await limit.isDisabled()).toBe(true);
  await rules.getByLabel('Unload idle models').check();
  await expect.poll(() => limit.isEnabled()).toBe(true);
  expect(await limit.inputValue()).toBe('30');
  await limit.fill('soon');
  await limit.press('Enter');
  await rules
    .getByRole('alert')
    .getByText(/a number of minutes/)
    .waitFor();
  expect(await limit.getAttribute('aria-invalid')).toBe('true');
  expect(await limit.inputValue()).toBe('30');
  await limit.fill('72');
  await limit.blur();
  await rules.getByText('a number of minutes').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.evaluate(() => void (location.hash = '#/settings/agent'));
  const field = page.getByRole('form', { name: 'This machine' }).getByLabel('Unload idle models');
  expect(await field.inputValue()).toBe('72');
});

test('an owner rule that this machine cannot judge is not offered, and one that is on says so', async () => {
  const host = await startMachine({ INGLENOOK_AGENT_ONLY_WHEN_IDLE: 'true' });
  const { rules } = await openRules(host.controlLink());
  await rules.getByText('It has no effect here: this machine does not report when').waitFor();
  expect(await rules.getByLabel('Pause at a GPU temperature').count()).toBe(0);
});
