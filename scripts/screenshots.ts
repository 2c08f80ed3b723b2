// `npm run screenshots`: the pictures in README.md and docs/, taken of the demo.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { closeBrowser, openPage } from '../test/support/browser.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGES = join(ROOT, 'docs/images');

/** A program of this repository that has printed where it is. */
interface Program {
  /** The window's address with a one-time code. */
  readonly link: string;
  readonly baseUrl: string;
  stop(): Promise<void>;
}

async function startDemo(): Promise<Program> {
  const child = spawn(process.execPath, [join(ROOT, 'main/demo.ts')], {
    env: { ...process.env, INGLENOOK_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function read(pattern: RegExp): Promise<string> {
    for (;;) {
      const { done, value } = await lines.next();
      if (done) throw new Error(`The demo ended before it printed ${String(pattern)}`);
      const found = pattern.exec(value);
      if (found !== null) return found[0];
    }
  }
  const link = await read(/http:\S+/);
  const baseUrl = await read(/http:\S+/);
  return {
    link,
    baseUrl,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** One streamed chat completion, read to its end. */
async function ask({ baseUrl }: Program): Promise<void> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'any',
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  });
  await response.text();
}

/** The upper `height` pixels of what the page shows at `hash`, light and dark. */
async function photograph(
  page: Page,
  { name, hash, height }: { readonly name: string; readonly hash: string; readonly height: number },
): Promise<void> {
  await page.evaluate((to) => void (location.hash = to), hash);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(() => document.fonts.ready.then(() => undefined));
    await showDefaultPort(page);
    const clip = { x: 0, y: 0, width: 1280, height };
    await page.screenshot({ path: join(IMAGES, `${name}-${colorScheme}.png`), clip });
    console.log(`docs/images/${name}-${colorScheme}.png`);
  }
}

/** The port is any free one; the pictures show the default. */
async function showDefaultPort(page: Page): Promise<void> {
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      node.nodeValue = (node.nodeValue ?? '').replaceAll(`:${location.port}`, ':47900');
    }
  });
}

/** Breaks the upstream at a place of the track, or heals it, and waits until the gateway says so. */
async function fault(page: Page, place: number, name: string): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().includes('/demo/faults/'));
  await page.locator('.fault select').nth(place).selectOption(name);
  await answered;
}

/** Traffic with a resumed stream, a hedged call and a fallback, the newest request still running. */
async function photographDemo(): Promise<void> {
  const demo = await startDemo();
  try {
    const page = await openPage(demo.link);
    await page.setViewportSize({ width: 1280, height: 832 });
    const traffic = page.getByLabel('Send a request every second');
    // Its requests would push these off the picture.
    await traffic.click();
    await ask(demo);
    await fault(page, 0, 'cut');
    await ask(demo);
    await fault(page, 0, 'refuse');
    await fault(page, 1, 'slow');
    await ask(demo);
    await fault(page, 1, 'none');
    const running = ask(demo);
    await page.locator('.request').nth(3).waitFor();
    await photograph(page, { name: 'requests', hash: '#/requests', height: 508 });
    await running;
    await page.evaluate(() => void (location.hash = '#/'));
    await traffic.click();
    await page
      .getByText(/^paused after/)
      .first()
      .waitFor();
    await photograph(page, { name: 'overview', hash: '#/', height: 832 });
  } finally {
    await demo.stop();
  }
}

await mkdir(IMAGES, { recursive: true });
try {
  await photographDemo();
} finally {
  await closeBrowser();
}
