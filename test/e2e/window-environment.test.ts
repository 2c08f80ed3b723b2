import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { openPage } from '../support/page.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

test('an address is all that a bare start takes, and one that is wrong or dead is explained', async () => {
  const page = await openPage((await startWindowHost(NO_AGENT)).controlLink());
  await page.getByText('Nothing is set up yet.').waitFor();
  const address = page.getByRole('textbox', { name: 'Engine address' });
  await address.fill('ftp://nowhere');
  await address.press('Enter');
  await page.getByText(/must be an http:\/\/ or https:\/\/ address/).waitFor();
  await address.fill('127.0.0.1:1');
  await address.press('Enter');
  await page.getByText(/Failed: unreachable/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('heading', { level: 1, name: 'Nothing can answer now.' }).waitFor();
  await page.getByText('Your GPUs do not answer (unreachable).').waitFor();
});

test('a switch that the environment holds is read-only and says which variable holds it', async () => {
  const host = await startWindowHost({
    ...NO_AGENT,
    INGLENOOK_LOCAL_ENGINE_URL: 'http://127.0.0.1:9',
    INGLENOOK_ONDEMAND_BASE_URL: 'http://127.0.0.1:9',
    INGLENOOK_FORCE_ZERO: 'true',
    INGLENOOK_ONDEMAND_WARMUP: 'false',
  });
  const page = await openPage(host.controlLink());
  await page.getByText('INGLENOOK_FORCE_ZERO').waitFor();
  await page.getByText('INGLENOOK_ONDEMAND_WARMUP').waitFor();
  const zero = page.getByLabel('Never spend money');
  expect(await zero.isChecked()).toBe(true);
  expect(await zero.isDisabled()).toBe(true);
  expect(await page.getByLabel('Start Rented GPU when').isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /Start now/ }).count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
});
