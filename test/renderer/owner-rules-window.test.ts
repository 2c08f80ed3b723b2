import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { HostActivity } from '../../main/agent/availability/host-activity.ts';
import { axeViolations } from '../support/browser.ts';
import { openPage } from '../support/page.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { startWindowHost } from '../support/window-host.ts';

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
  const host = await startWindowHost(environment, temporaryDirectory(), { hostActivity });
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  const rules = page.getByRole('region', { name: 'Automatic pause' });
  await rules.getByText('It has no effect here: this machine does not report when').waitFor();
  expect(await rules.getByLabel('Pause at a GPU temperature').count()).toBe(0);

  const battery = rules.getByLabel('Pause on battery');
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
  await page.evaluate(() => void (location.hash = '#/settings/agent'));
  const field = page.getByRole('form', { name: 'This machine' }).getByLabel('Unload idle models');
  // The objection goes as soon as the limit is sent; the page of settings follows the gateway's answer.
  await expect.poll(() => field.inputValue()).toBe('72');
});
