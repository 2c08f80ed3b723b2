import type { Locator, Page } from 'playwright-core';
import { axeViolations } from './browser.ts';

interface Sight {
  readonly width: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/** The narrowest phone and a desktop. Colours move nothing, so each is seen in one scheme. */
const SIGHTS: readonly Sight[] = [
  { width: 320, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
];

/** Shows a page so, and waits until it is drawn: lists measure themselves in the frame after a new size. */
export async function showAt(
  page: Page,
  { width, height = 800, colorScheme }: Sight,
): Promise<void> {
  await page.setViewportSize({ width, height });
  if (colorScheme !== undefined) await page.emulateMedia({ colorScheme });
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

/** By how much a page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/**
 * What axe finds wrong with a page or a part of it and by how much the page is too wide, one line each; it ends as a light desktop. A scan
 * costs more than the rest of most tests, so there is one: in the dark, as other tests scan pages in the light.
 */
export async function faultsOf(page: Page, part?: Locator): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const sight of SIGHTS) {
    await showAt(page, sight);
    const over = await overflowOf(page);
    const width = over > 0 ? [`${over} px too wide`] : [];
    const found = sight.colorScheme === 'dark' ? await axeViolations(page, part) : [];
    faults.push(...[...width, ...found].map((fault) => `${sight.width} px: ${fault}`));
  }
  return faults;
}
