import { expect, test } from 'vitest';
import { type Increment, NO_USAGE } from '../../main/gateway/usage/queries.ts';
import { axeViolations } from '../support/browser.ts';
import { chat, HELLO } from '../support/client.ts';
import { bearer } from '../support/http.ts';
import { directoryWith } from '../support/data-directory.ts';
import { faultsOf } from '../support/sights.ts';
import { shownMachine } from '../support/tier.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

const KEY = 'key-of-the-tests-123';
const USAGE = { prompt_tokens: 1200, completion_tokens: 345, total_tokens: 1545 };

const idOf = (n: number) => `prv_${String(n).repeat(32)}`;

const minutesAgo = (n: number) => 60_000 * (Math.floor(Date.now() / 60_000) - n);

/** Of ten machines. */
function machinesInUse(): readonly Increment[] {
  return Array.from({ length: 200 }, (_, n) => ({
    place: {
      at: minutesAgo(n % 20),
      upstream: 'local',
      provider: idOf(n % 10),
      model: 'qwen3',
      key: '',
    },
    figures: {
      ...NO_USAGE,
      calls: 1 + (n % 10),
      inputTokens: 900 + 7 * n,
      outputTokens: 300,
      firstTokenMs: 200 + n,
      firstTokens: 1,
    },
  }));
}

/** Requests that one upstream answered, by how many hours ago it was. */
function requestsAgo(callsByHours: readonly (readonly [number, number])[]): readonly Increment[] {
  return callsByHours.flatMap(([hours, calls]) => {
    const place = { at: minutesAgo(60 * hours), provider: '', model: '', key: '' };
    const figures = { ...NO_USAGE, calls, outputTokens: 100 * calls };
    return ['', 'hosted_a'].map((upstream) => ({ place: { ...place, upstream }, figures }));
  });
}

/** The registry has a name for the first, a name of its owner's for the second, and has removed the others. */
const REGISTRY = {
  providers: [9, 8].map((n) => ({
    ...shownMachine(idOf(n), { host: { hostname: `tower-${n}` } }, 'failed'),
    note: n === 8 ? { name: 'Attic', note: '' } : null,
  })),
};

async function start(increments = machinesInUse()) {
  const upstream = await startUpstream(json(200, { ...completion('hi'), usage: USAGE }));
  const env = {
    INGLENOOK_HOSTED_A_BASE_URL: upstream.url,
    INGLENOOK_HOSTED_A_LABEL: 'Hosted A',
    INGLENOOK_HOSTED_A_MODEL: 'model-a',
    INGLENOOK_HOSTED_A_PRICE_INPUT: '10',
    INGLENOOK_CURRENCY: 'EUR',
    INGLENOOK_API_KEYS: KEY,
  };
  const opened = await openWindowHost(env, directoryWith({ ...REGISTRY, increments }));
  await opened.page.getByRole('link', { name: 'History' }).first().click();
  return opened;
}

test('the history can be read, by keyboard too, fits, and has a column of money once there is a price', async () => {
  const { url, page } = await start();
  const today = page.getByRole('region', { name: 'Today' });
  await page.getByRole('columnheader', { name: 'Calls' }).waitFor();
  expect(await page.getByText('Spent').count()).toBe(0);
  await chat(url, HELLO, bearer(KEY));
  await page.getByRole('columnheader', { name: 'Spent' }).first().waitFor();
  await page.goBack();
  await today.getByText('0.012 EUR').waitFor();
  await today.getByText('1,545').waitFor();
  expect(await today.locator('.sparkline rect').count()).toBeGreaterThan(0);
  await today.getByRole('link', { name: 'History' }).click();
  await page.getByText('0.012 EUR').first().waitFor();
  await page.getByRole('link', { name: 'Hour' }).focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('link', { name: 'Hour', exact: true })
    .and(page.locator('[aria-current]'))
    .waitFor();
  await page.getByRole('cell', { name: 'model-a' }).waitFor();
  await page.getByRole('rowheader', { name: 'Your GPUs · Attic' }).waitFor();
  await page.getByRole('rowheader', { name: 'Your GPUs · machine 77777777' }).waitFor();
  await chat(url, HELLO, bearer(KEY));
  await page.getByRole('row', { name: /Hosted A model-a 2 / }).waitFor();
  await page.getByRole('rowheader', { name: 'key 1' }).waitFor();
  expect(await page.locator('.chart rect').count()).toBeGreaterThan(0);
  await page.getByText('Show as a table').click();
  await page.getByRole('columnheader', { name: 'Time to first token' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
});

const HOURS_AGO = [
  [0.5, 1],
  [5, 2],
  [72, 4],
  [480, 8],
] as const;

const dayOf = (hoursAgo: number) => new Date(minutesAgo(60 * hoursAgo)).toDateString();

const CLOCK = /^\d\d:\d\d$/;
const WEEKDAY_AND_CLOCK = /^\w{3} \d\d:\d\d$/;
const DAY_AND_CLOCK = /^\w{3},? \d{1,2} \w{3,4}, \d\d:\d\d$/;
const DAY = /^\w{3},? \d{1,2} \w{3,4}$/;

/** Of each range: what it comes to, its steps in which something happened, and how a step is called. */
const RANGES = [
  { name: 'Hour', calls: 1, steps: 1, label: CLOCK },
  { name: 'Day', calls: 3, steps: 2, label: WEEKDAY_AND_CLOCK },
  { name: 'Week', calls: 7, steps: 3, label: DAY_AND_CLOCK },
  // The first two may be of one day.
  { name: 'Month', calls: 15, steps: dayOf(0.5) === dayOf(5) ? 3 : 4, label: DAY },
] as const;

test('each range of the history has its own figures and beginning, and the table stays open', async () => {
  const { page } = await start(requestsAgo(HOURS_AGO));
  await page.getByText('Show as a table').click();
  await page.getByRole('link', { name: 'Hour', exact: true }).focus();
  for (const { name, calls, steps, label } of RANGES) {
    const range = page.getByRole('link', { name, exact: true });
    await page.keyboard.press('Enter');
    await range.and(page.locator('[aria-current]')).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: `Hosted A ${calls}` })
      .waitFor();
    const requests = page.locator('.chart').first();
    const ends = await requests.locator('.chart-ends span').allInnerTexts();
    expect(ends).toEqual([expect.stringMatching(label), 'now']);
    const rows = page.getByRole('region', { name: 'By time' }).getByRole('row');
    const times = await rows.getByRole('rowheader').allInnerTexts();
    expect(times).toEqual(Array.from({ length: steps }, () => expect.stringMatching(label)));
    expect(await range.evaluate((it) => it === document.activeElement)).toBe(true);
    await page.keyboard.press('Tab');
  }
});

test('the history without a request says what will be there, and a sum leads to the requests that it counts', async () => {
  const { url, page } = await start([]);
  await page.getByRole('heading', { name: 'No requests in the last month' }).waitFor();
  expect(await page.locator('.chart').filter({ visible: true }).count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  await chat(url, HELLO, bearer(KEY));
  await page.getByRole('rowheader', { name: 'key 1' }).getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#/requests?key=key+1');
  await page.locator('.request').first().waitFor();
});
