import { expect, test } from 'vitest';
import { attempt, NOW, request } from '../renderer/builders.ts';
import { chat } from '../support/client.ts';
import { directoryWith } from '../support/data-directory.ts';
import { turnTo } from '../support/page.ts';
import { completion, json, startUpstream } from '../support/upstream.ts';
import { openWindowHost } from '../support/window-host.ts';

const [GONE, DEN, TWIN] = ['prv_aaaa11112222', 'prv_bbbb11112222', 'prv_cccc11112222'] as const;
const TIMED_OUT = attempt({ provider: GONE, machine: 'tower', endMs: 90, reason: 'timeout' });
const ANSWERED = { startMs: 90, firstContentMs: 200, endMs: 900 };

/** Two machines are named alike. */
const BY_MACHINES = [
  request('req_by_den', {
    startedAt: NOW + 2000,
    fallbackReason: `local/${GONE}=timeout`,
    attempts: [TIMED_OUT, attempt({ provider: DEN, machine: 'den', ...ANSWERED })],
  }),
  request('req_by_twin', {
    startedAt: NOW + 2001,
    attempts: [attempt({ provider: TWIN, machine: 'den', ...ANSWERED })],
  }),
];

test('requests of an earlier run are all in the list and its filters, with their machines by name, and new ones wait while the pointer is there', async () => {
  const rows = Array.from({ length: 1_300 }, (_, n) =>
    request(`req_${n}`, {
      startedAt: NOW + n,
      state: n < 500 ? 'failed' : 'done',
      model: n === 3 ? 'seldom' : 'qwen3',
    }),
  );
  const upstream = await startUpstream(json(200, completion('hi')));
  const { page, url: origin } = await openWindowHost(
    { INGLENOOK_HOSTED_A_BASE_URL: upstream.url },
    directoryWith({ rows: [...rows, ...BY_MACHINES] }),
  );
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  await page.getByRole('link', { name: 'All 1,302' }).waitFor();
  const ids = () =>
    page
      .locator('.request')
      .evaluateAll((shown) => shown.map((row) => row.getAttribute('data-id')));
  await page.locator('[data-id="req_by_twin"]').hover();
  await Promise.all([chat(origin), chat(origin)]);
  const more = page.getByRole('button', { name: '2 new · Show' });
  await more.waitFor();
  expect((await ids()).slice(0, 2)).toEqual(['req_by_twin', 'req_by_den']);
  await more.click();
  await expect.poll(async () => (await ids()).indexOf('req_by_twin')).toBe(2);

  await page.getByText('Your GPUs · tower timed out').waitFor();
  await page.getByText('Your GPUs · den (bbbb1111)', { exact: true }).waitFor();
  const machines = page.getByLabel('Machine', { exact: true });
  await expect
    .poll(() => machines.getByRole('option').allInnerTexts())
    .toEqual(['All machines', 'den (bbbb1111)', 'den (cccc1111)', 'tower']);
  await machines.selectOption({ label: 'tower' });
  await expect.poll(() => page.url()).toContain(`machine=${GONE}`);
  await expect.poll(ids).toEqual(['req_by_den']);
  await page.locator('.request').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('rowheader', { name: 'Your GPUs · tower' }).waitFor();
  await dialog.getByText('Your GPUs · tower timed out; Your GPUs · den').waitFor();
  await turnTo(page, '#/requests/req_by_twin');
  await dialog.locator('.facts').getByText('Your GPUs · den (cccc1111)').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.url()).toBe(`${origin}/#/requests`);
  await expect.poll(() => dialog.count()).toBe(0);

  const end = page.getByText('Inglenook keeps the last 1,000');
  await expect
    .poll(async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return [await end.count(), await page.locator('[data-id="req_0"]').count()];
    })
    .toEqual([1, 1]);
  expect(await page.locator('.request').count()).toBeLessThan(60);

  await page.getByRole('link', { name: 'Not answered 500' }).click();
  await page.getByLabel('Model', { exact: true }).selectOption('seldom');
  await expect.poll(ids).toEqual(['req_3']);
  await page.getByRole('searchbox').fill('no such request');
  await page.getByText('No request on record matches.').waitFor();

  await turnTo(page, '#/requests/req_1');
  await page.reload();
  await dialog.getByText('req_1', { exact: true }).waitFor();
  await dialog.getByText('No source', { exact: false }).first().waitFor();
  await dialog.getByRole('button', { name: 'Older' }).click();
  await expect.poll(() => page.url()).toContain('#/requests/req_0');
});

test('a page of older requests that is read twice, after a change of the filter, is not taken for the end of the list', async () => {
  const rows = Array.from({ length: 700 }, (_, n) => request(`req_${n}`, { startedAt: NOW + n }));
  const { page } = await openWindowHost({}, directoryWith({ rows }));
  const held: (() => void)[] = [];
  const isSecond = ({ searchParams }: URL) =>
    searchParams.get('before') === String(NOW + 500) && !searchParams.has('text');
  await page.route(isSecond, async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    await route.continue();
  });
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  const atEnd = async <T>(seen: () => T) => {
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    return seen();
  };
  const last = () => page.locator('[data-id="req_0"]').count();
  await expect.poll(() => atEnd(() => held.length)).toBe(1);
  await page.getByRole('searchbox').fill('req_');
  await expect.poll(() => atEnd(last)).toBe(1);
  await page.getByRole('searchbox').fill('');
  await expect.poll(() => atEnd(() => held.length)).toBe(2);
  for (const release of held) release();
  await expect.poll(() => atEnd(last)).toBe(1);
});

test('what an engine read again is in the list and the details, and its sum in the history', async () => {
  const tokens = { input: 42_000, output: 51, cached: 4000, estimated: false };
  const read = (id: string, again: number, why: 'reminder' | 'another_machine') => {
    const reading = { why, again, message: why === 'reminder' ? 3 : null };
    const times = { firstContentMs: 3_000, lastContentMs: 5_000, endMs: 5_000 };
    const attempts = [attempt({ tokens, reading, model: 'qwen3', ...times })];
    return request(id, { startedAt: Date.now(), upstream: 'local', status: 200, tokens, attempts });
  };
  const rows = [
    read('req_1', 38_000, 'reminder'),
    read('req_2', 21_000, 'another_machine'),
    read('req_3', 36_400, 'reminder'),
  ];
  const { page } = await openWindowHost({}, directoryWith({ rows }));
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  const why = '38,000 tokens read again: system reminder changed (message 3)';
  await page.locator('[data-id="req_1"]').getByText(why).click();
  const details = page.getByRole('dialog');
  await details.getByText(`4,000 of 42,000 tokens from its cache · ${why}`).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'History' }).first().click();
  const sum = page.getByText('tokens read again today');
  const because = 'system reminder changed 2 times, another machine 1 time';
  const all = `95,400 tokens read again today: ${because}.`;
  await expect.poll(() => sum.innerText()).toBe(all);
});
