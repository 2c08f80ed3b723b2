import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { axeViolations } from '../support/browser.ts';
import { turnTo } from '../support/page.ts';
import { showAt } from '../support/sights.ts';
import { openFedWindow, openWindow } from '../support/window-feed.ts';
import {
  attempt,
  circuit,
  NOW,
  perUpstream,
  request,
  snapshot,
  status,
  upstream,
} from './builders.ts';
import * as rows from './request-builders.ts';

const ALL = [
  rows.hedgeWon(),
  rows.hedgeLost(),
  rows.handedOver(),
  rows.hedgedAndHandedOver(),
  rows.hedgedMachine(),
  rows.sixteen(),
  rows.crowded(),
];

const SIZES = [
  { width: 1280, height: 800 },
  { width: 1024, height: 768 },
  { width: 900, height: 600 },
  { width: 390, height: 844 },
];

function open(requests: readonly RequestRow[], hash = '#/requests'): Promise<Page> {
  const report = status(UPSTREAM_IDS.map((id) => upstream(id)));
  const inFlight = { ...perUpstream(0), hosted_a: 1, hosted_b: 1 };
  return openWindow(snapshot({ requests, status: report, inFlight }), hash);
}

test('the Requests page shows its filters only if there are requests, even at the address of a filter', async () => {
  const { page, say } = await openFedWindow(snapshot(), '#/requests/failed');
  await page.getByRole('region', { name: /^Requests, / }).waitFor();
  const filters = page.getByRole('navigation', { name: 'Which requests' });
  expect(await filters.count()).toBe(0);
  say({ kind: 'delta', upsert: ALL, remove: [] });
  await filters.waitFor();
});

test('a second call changes no row’s height, no text leaves its row, the model that answered is in full, and the details fit each window', async () => {
  const answered = attempt({ model: 'demo-model', firstContentMs: 300, endMs: 900 });
  const plain = request('plain', { model: 'gpt-4o-mini', attempts: [answered] });
  const page = await open([...ALL, plain]);
  const dialog = page.getByRole('dialog');
  for (const size of SIZES) {
    await showAt(page, size);
    await page.locator('.request').last().waitFor();
    const heights = await page
      .locator('.request')
      .evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
    expect(new Set(heights).size).toBe(1);
    const outside = await page.locator('.note, .mark, .stretch').evaluateAll(
      (all) =>
        all.filter((part) => {
          const row = part.closest('.request')?.getBoundingClientRect();
          const { top, bottom, left, right } = part.getBoundingClientRect();
          return (
            row && (top < row.top || bottom > row.bottom || left < row.left || right > row.right)
          );
        }).length,
    );
    expect(outside).toBe(0);
    const model = page.getByTitle('gpt-4o-mini, answered by demo-model');
    expect(await model.evaluate((it) => it.scrollWidth - it.clientWidth)).toBeLessThanOrEqual(0);
    for (const { id } of ALL) {
      await turnTo(page, `#/requests/${id}`);
      await dialog.getByText(id, { exact: true }).waitFor();
      const over = await dialog.evaluate((it) => it.scrollWidth - it.clientWidth);
      expect(over).toBeLessThanOrEqual(0);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
});

test('the details tell the story of a request: its endpoint, its key by name, why each call was made, and each circuit', async () => {
  const caller = { key: 'sw-…f00d', address: '127.0.0.1', userAgent: 'app/1' };
  const attempts = rows.hedgeWon().attempts.map((each) => ({
    ...each,
    circuitBefore: 'probing' as const,
    circuitAfter: 'open' as const,
  }));
  const sent = { endpoint: 'messages', key: 'laptop', caller };
  const named = rows.hedgeWon({ ...sent, spentNano: 12_300, attempts });
  const page = await open([named, rows.hedgedMachine(), rows.handedOver()]);
  await page.getByText('Groq dropped the stream; Together continued the answer').waitFor();
  await page.getByText('What the bars mean').click();
  await page.getByText('time axis is logarithmic').waitFor();
  await page.locator('.request', { hasText: 'attic' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Local · tower was slow; Local · attic answered first.').waitFor();
  const cells = await dialog.getByRole('row').last().getByRole('cell').allInnerTexts();
  const shown = cells.map((text) => text.replace(/\s+/g, ' '));
  expect(shown).toEqual(['Local · tower was slow', 'answered', '+5.0 s', '600 ms', '3.0 s']);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await page.locator('.request', { hasText: 'laptop' }).click();
  const facts = await dialog.locator('.facts').innerText();
  expect(facts).toMatch(/Endpoint\s+messages\s/);
  expect(facts).toMatch(/Cost\s+0\.000012 EUR\s/);
  expect(facts).toMatch(/Key\s+laptop \(sw-…f00d\)\s/);
  expect(await dialog.getByText('tried after a pause, and paused again').count()).toBe(
    attempts.length,
  );
  expect(await axeViolations(page, dialog)).toEqual([]);
});

test('Overview and History say what always moves on, why, for which app and at what cost', async () => {
  const caller = { key: null, address: '127.0.0.1', userAgent: 'codex/1.2' };
  const words = 'HTTP 400: The harbour is closed.';
  const spent = { count: 3, spentNano: 1_500_000_000 };
  const moves = [{ upstream: 'local', words, caller, key: null, ...spent } as const];
  const report = status(UPSTREAM_IDS.map((id) => upstream(id)));
  const page = await openWindow(snapshot({ moves, status: report }), '#/overview');
  for (const hash of ['#/overview', '#/history']) {
    await turnTo(page, hash);
    const notice = page.locator('.notice', { hasText: 'always move on' });
    expect(await notice.innerText()).toBe(
      'These requests always move on from Local: HTTP 400: The harbour is closed. ' +
        'From codex, at least 3 times in the last hour, for 1.50 EUR. Show them',
    );
  }
});

test('the Overview says how many requests were refused for their key, when the last, and from where', async () => {
  const keyRefusals = { count: 2, lastAt: NOW - 60_000, lastAddress: '192.168.1.9' };
  const page = await openWindow(snapshot({ keyRefusals }), '#/overview');
  const notice = page.locator('.notice', { hasText: 'refused' });
  expect(await notice.innerText()).toMatch(
    /^2 requests were refused in the last hour: wrong or missing key. The last at [\d:]{8}, from 192.168.1.9. Keys/,
  );
});

test('thousands of answers fit the column of their source', async () => {
  const circuits = { circuit: circuit({ ewmaTtft: 1_520 }) };
  const report = status(UPSTREAM_IDS.map((id) => upstream(id, circuits)));
  const tally = { asked: 2_785, answered: 2_750, retries: 12, polls: 0 };
  const { outcomes } = snapshot();
  const page = await openWindow(
    snapshot({ status: report, outcomes: { ...outcomes, upstreams: perUpstream(tally) } }),
    '#/overview',
  );
  for (const size of SIZES) {
    await showAt(page, size);
    const figures = page.locator('.upstream-card dl.figures');
    await figures.first().waitFor();
    const over = await figures.evaluateAll((all) =>
      all.map((it) => it.scrollWidth - it.clientWidth),
    );
    expect(Math.max(...over)).toBeLessThanOrEqual(0);
  }
});
