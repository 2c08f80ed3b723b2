import { expect, onTestFinished, test } from 'vitest';
import { createHost, WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { loadConfig } from '../../main/config/load.ts';
import { openUsageStore } from '../../main/gateway/usage/store.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { axeViolations } from '../support/browser.ts';
import { chat, HELLO } from '../support/client.ts';
import { remembering, temporaryDirectory } from '../support/gateway.ts';
import { bearer } from '../support/http.ts';
import { openPage } from '../support/page.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';

const KEY = 'key-of-the-tests-123';
const USAGE = { prompt_tokens: 1200, completion_tokens: 345, total_tokens: 1545 };

async function start() {
  const upstream = await startUpstream(json(200, { ...completion('hi'), usage: USAGE }));
  const env = {
    SWITCHYARD_PORT: '0',
    SWITCHYARD_AGENT: 'false',
    SWITCHYARD_HOSTED_A_BASE_URL: upstream.url,
    SWITCHYARD_HOSTED_A_MODEL: 'model-a',
    SWITCHYARD_HOSTED_A_PRICE_INPUT: '10',
    SWITCHYARD_CURRENCY: 'EUR',
    SWITCHYARD_API_KEYS: KEY,
  };
  const loaded = loadConfig(env, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const host = await createHost(
    { loaded, dataDirectory: temporaryDirectory(), windowDirectory: WINDOW_DIRECTORY },
    {
      openStore: remembering({ providers: [], enrollments: [], documents: {} }),
      openUsage: openUsageStore,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    },
  );
  const { url } = await host.start();
  onTestFinished(() => host.stop());
  return { url, link: host.controlLink() };
}

test.each([
  ['light', 1280],
  ['dark', 390],
  ['light', 320],
] as const)(
  'history is read, by keyboard too, and fits (%s, %i px)',
  async (colorScheme, width) => {
    const { url, link } = await start();
    await chat(url, HELLO, bearer(KEY));
    const page = await openPage(link, {
      colorScheme,
      viewport: { width, height: 800 },
    });
    const today = page.getByRole('region', { name: 'Today' });
    await today.getByText('0.0120 EUR').waitFor();
    await today.getByText('1,545').waitFor();
    expect(await today.locator('.sparkline rect').count()).toBeGreaterThan(0);
    expect(await axeViolations(page)).toEqual([]);
    await today.getByRole('link', { name: 'History' }).click();
    await page.getByText('0.0120 EUR').first().waitFor();
    await page.getByRole('link', { name: 'Hour' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('link', { name: 'Hour', exact: true })
      .and(page.locator('[aria-current]'))
      .waitFor();
    await page.getByRole('cell', { name: 'model-a' }).waitFor();
    await page.getByRole('rowheader', { name: 'key 1' }).waitFor();
    expect(await page.locator('.chart rect').count()).toBeGreaterThan(0);
    await page.getByText('As a table').click();
    await page.getByRole('columnheader', { name: 'Tokens per second' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(over).toBeLessThanOrEqual(0);
  },
);
