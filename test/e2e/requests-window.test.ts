import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { attempt, NOW, request } from '../renderer/builders.ts';
import { startDemo, type RunningDemo } from '../support/demo.ts';
import { directoryWith } from '../support/data-directory.ts';
import { openPage } from '../support/page.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

async function ask({ baseUrl }: RunningDemo): Promise<void> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'a secret word' }] }),
  });
  await response.text();
}

async function openRequests(demo: RunningDemo, rows: number): Promise<Page> {
  const page = await openPage(demo.link);
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  // The overview has a list as well, which goes as the page changes.
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  await page.locator('.request').nth(rows).waitFor();
  return page;
}

test('new rows wait while the pointer is in the list, and come on request', async () => {
  const demo = await startDemo();
  await ask(demo);
  const page = await openRequests(demo, 0);
  await page.locator('.request').first().hover();
  await Promise.all([ask(demo), ask(demo)]);
  await page.getByRole('button', { name: '2 new · Show' }).click();
  await page.locator('.request').nth(2).waitFor();
  expect(await page.locator('.request').count()).toBe(3);
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
  const host = await startWindowHost(NO_AGENT, directoryWith({ rows }));
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  const why = '38,000 tokens read again: system reminder changed (message 3)';
  await page.locator('[data-id="req_1"]').getByText(why).click();
  await page
    .getByRole('dialog')
    .getByText(`4,000 of 42,000 tokens from its cache · ${why}`)
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'History' }).first().click();
  const sum = page.getByText('tokens read again today');
  await expect
    .poll(() => sum.innerText())
    .toBe(
      '95,400 tokens read again today: system reminder changed 2 times, another machine 1 time.',
    );
});

test('all requests of an earlier run are in the list and its filters, and each has its address', async () => {
  const rows = Array.from({ length: 1_300 }, (_, n) =>
    request(`req_${n}`, {
      startedAt: NOW + n,
      state: n < 500 ? 'failed' : 'done',
      model: n === 3 ? 'seldom' : 'qwen3',
    }),
  );
  const host = await startWindowHost(NO_AGENT, directoryWith({ rows }));
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  await page.getByRole('link', { name: 'All 1,300' }).waitFor();
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
  const ids = () =>
    page
      .locator('.request')
      .evaluateAll((shown) => shown.map((row) => row.getAttribute('data-id')));
  await expect.poll(ids).toEqual(['req_3']);

  await page.evaluate(`location.hash = '#/requests/req_1'`);
  await page.reload();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('req_1', { exact: true }).waitFor();
  await dialog.getByText('No source', { exact: false }).first().waitFor();
  await dialog.getByRole('button', { name: 'Older' }).click();
  await expect.poll(() => page.url()).toContain('#/requests/req_0');
});

test('a machine has its name in the list, the filter and the details, and its id in the address', async () => {
  const [gone, den, twin] = ['prv_aaaa11112222', 'prv_bbbb11112222', 'prv_cccc11112222'] as const;
  const timedOut = attempt({ provider: gone, machine: 'tower', endMs: 90, reason: 'timeout' });
  const answered = { startMs: 90, firstContentMs: 200, endMs: 900 };
  const rows = [
    request('req_1', {
      startedAt: NOW,
      fallbackReason: `local/${gone}=timeout`,
      attempts: [timedOut, attempt({ provider: den, machine: 'den', ...answered })],
    }),
    request('req_2', {
      startedAt: NOW + 1,
      attempts: [attempt({ provider: twin, machine: 'den', ...answered })],
    }),
  ];
  const host = await startWindowHost(NO_AGENT, directoryWith({ rows }));
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  await page.getByText('Your GPUs · tower timed out').waitFor();
  await page.getByText('Your GPUs · den (bbbb1111)', { exact: true }).waitFor();

  const machines = page.getByLabel('Machine', { exact: true });
  await expect
    .poll(() => machines.getByRole('option').allInnerTexts())
    .toEqual(['All machines', 'den (bbbb1111)', 'den (cccc1111)', 'tower']);
  await machines.selectOption({ label: 'tower' });
  await expect.poll(() => page.url()).toContain(`machine=${gone}`);
  await page.reload();
  await page.locator('.request').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('rowheader', { name: 'Your GPUs · tower' }).waitFor();
  await dialog.getByText('Your GPUs · tower timed out; Your GPUs · den').waitFor();

  await page.evaluate(`location.hash = '#/requests/req_2'`);
  await dialog.locator('.facts').getByText('Your GPUs · den (cccc1111)').waitFor();
});

test('the keyboard walks through the list of requests, opens one, goes on and comes back', async () => {
  const demo = await startDemo();
  for (let n = 0; n < 3; n += 1) await ask(demo);
  const page = await openRequests(demo, 2);
  const idAt = (index: number) =>
    page.locator('.request').nth(index).getAttribute('data-id') as Promise<string>;
  await page.locator('.request').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  expect(page.url()).toContain(await idAt(1));
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => page.url()).toContain(await idAt(2));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('searchbox').fill('no such request');
  await page.getByText('No request on record matches.').waitFor();
});
