import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createHost, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import { axeViolations, closeBrowser, openPage } from '../support/browser.ts';
import { temporaryDirectory } from '../support/gateway.ts';

afterAll(closeBrowser);

/** A gateway with its window, set up by an environment; answers a link that gives control. */
async function startWindow(environment: Readonly<Record<string, string>>): Promise<string> {
  const loaded = loadConfig(
    { SWITCHYARD_PORT: '0', SWITCHYARD_AGENT: 'false', ...environment },
    {},
  );
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const host = await createHost(
    { loaded, dataDirectory: temporaryDirectory(), windowDirectory: WINDOW_DIRECTORY },
    { openStore, clock: systemClock, random: Math.random, log: silentLog },
  );
  await host.start();
  onTestFinished(() => host.stop());
  return host.controlLink();
}

test('with nothing set up, an address is all that it takes, and one that is wrong or dead is explained', async () => {
  const page = await openPage(await startWindow({}));
  await page.getByText('Nothing is set up yet.').waitFor();
  const address = page.getByRole('textbox', { name: 'Or its address' });
  await address.fill('ftp://nowhere');
  await address.press('Enter');
  await page.getByText(/must be an http:\/\/ or https:\/\/ address/).waitFor();
  await address.fill('127.0.0.1:1');
  await address.press('Enter');
  await page.getByText(/Failed: unreachable/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole('heading', { level: 1, name: /Local/ }).waitFor();
});

test('a switch that the environment holds is read-only and says which variable holds it', async () => {
  const page = await openPage(
    await startWindow({
      SWITCHYARD_LOCAL_ENGINE_URL: 'http://127.0.0.1:9',
      SWITCHYARD_ONDEMAND_BASE_URL: 'http://127.0.0.1:9',
      SWITCHYARD_FORCE_ZERO: 'true',
      SWITCHYARD_ONDEMAND_WARMUP: 'false',
    }),
  );
  await page.getByText('SWITCHYARD_FORCE_ZERO').waitFor();
  await page.getByText('SWITCHYARD_ONDEMAND_WARMUP').waitFor();
  const zero = page.getByLabel('Never spend money');
  expect(await zero.isChecked()).toBe(true);
  expect(await zero.isDisabled()).toBe(true);
  expect(await page.getByLabel('Warm up on demand').isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /Warm up now/ }).count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
});
