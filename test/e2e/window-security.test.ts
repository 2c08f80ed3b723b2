import { createServer } from 'node:http';
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
