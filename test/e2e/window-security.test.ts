import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { openPage } from '../support/page.ts';

/** Another origin, with a page and nothing that lets others read it. */
async function otherSite(): Promise<string> {
  const port = await listening(
    createServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<p id="secret">of another site</p>');
    }),
  );
  return `http://127.0.0.1:${port}`;
}

test('the test browser has web security on, so no page reads another origin', async () => {
  const [page, other] = [await openPage(await otherSite()), await otherSite()];
  const seen = await page.evaluate(async (url) => {
    const fetched = await fetch(url).then(
      (response) => response.text(),
      (error: unknown) => (error instanceof Error ? error.name : 'unknown'),
    );
    const frame = document.createElement('iframe');
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    frame.src = url;
    document.body.append(frame);
    await loaded;
    return { fetched, framed: frame.contentDocument?.body.textContent ?? null };
  }, other);
  expect(seen).toEqual({ fetched: 'TypeError', framed: null });
});

test('browsers are started in one place, so that web security is on in all', () => {
  const root = join(import.meta.dirname, '../..');
  const starting = ['test', 'scripts', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$/.test(name))
      .map((name) => join(folder, name))
      .filter((name) => /chromium\.launch\(/.test(readFileSync(join(root, name), 'utf8'))),
  );
  expect(starting).toEqual([join('test', 'support', 'browser.ts')]);
});

test('the dashboard cannot reach into a page that it did not open, and no other site frames it', async () => {
  const { url } = await startGateway({});
  const page = await openPage(await otherSite());
  const framed = await page.evaluate(async (target) => {
    const frame = document.createElement('iframe');
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    frame.src = target;
    document.body.append(frame);
    await loaded;
    return frame.contentDocument === null;
  }, url);
  expect(framed).toBe(true);
  const [opened] = await Promise.all([
    page.waitForEvent('popup'),
    page.evaluate((target) => {
      Object.assign(globalThis, { kept: window.open(target) });
    }, url),
  ]);
  await opened.waitForLoadState('load');
  expect(await opened.evaluate(() => window.opener)).toBeNull();
  expect(await page.evaluate(() => (globalThis as unknown as { kept: Window }).kept.closed)).toBe(
    true,
  );
});
