import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { RequestRow } from '#shared/live.ts';
import { openFedWindow } from '../support/window-feed.ts';
import { attempt, delta, NOW, request, snapshot } from '../renderer/builders.ts';

/** As many as the gateway keeps of successes and of the rest. */
const KEPT = 2_000;
/** The feed tells four times a second what has changed. */
const FRAMES_PER_SECOND = 4;

/** In one change, so that half an hour of them is soon over. */
const EVENTS = 20;

function rowsFrom(first: number, count: number): readonly RequestRow[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `req_${first + index}`;
    const attempts = [attempt({ firstContentMs: 300, endMs: 900 })];
    return request(id, { startedAt: NOW + first + index, attempts });
  }).toReversed();
}

const idsFrom = (first: number, count: number) => rowsFrom(first, count).map(({ id }) => id);

interface Load {
  readonly page: Page;
  /** Newest rows come and the oldest go, as in a quarter of a second; resolves when they are shown. */
  readonly next: () => Promise<void>;
}

async function underLoad(hash: string, requestsPerSecond: number): Promise<Load> {
  const { page, say } = await openFedWindow(snapshot({ requests: rowsFrom(0, KEPT) }), hash, {
    isOwn: true,
  });
  await page.locator('.request').first().waitFor();
  const count = requestsPerSecond / FRAMES_PER_SECOND;
  let newest = KEPT;
  return {
    page,
    async next() {
      say(delta({ upsert: rowsFrom(newest, count), remove: idsFrom(newest - KEPT, count) }));
      newest += count;
      await page.locator(`[data-id="req_${newest - 1}"]`).waitFor();
    },
  };
}

/** Processor time of the page's own thread in milliseconds, so that a busy machine fails no test. */
async function workMsOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN);
  };
}

test.each(['#/', '#/requests'])(
  'the page %s never works for 50 ms on a change at 500 requests a second, and draws few rows',
  async (hash) => {
    const { page, next } = await underLoad(hash, 500);
    const workMs = await workMsOf(page);
    for (let warm = 0; warm < 4; warm += 1) await next();
    const costs: number[] = [];
    for (let frame = 0; frame < 12; frame += 1) {
      const before = await workMs();
      await next();
      costs.push((await workMs()) - before);
    }
    expect(Math.max(...costs)).toBeLessThan(50);
    expect(await page.locator('.request').count()).toBeLessThan(60);
  },
);

test('a page stays the same size through half an hour of events, one a second', async () => {
  const { page, next } = await underLoad('#/requests', EVENTS * FRAMES_PER_SECOND);
  const session = await page.context().newCDPSession(page);
  const size = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return { usedSize, nodes: await page.evaluate(() => document.querySelectorAll('*').length) };
  };
  for (let event = 0; event < 200; event += EVENTS) await next();
  const before = await size();
  for (let event = 0; event < 1_800; event += EVENTS) await next();
  const after = await size();
  expect(after.nodes).toBeLessThanOrEqual(before.nodes + 20);
  expect(after.usedSize).toBeLessThan(before.usedSize + 1_500_000);
});
