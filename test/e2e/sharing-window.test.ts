import { encode } from 'uqr';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { redeem } from '../support/control.ts';
import { OUTER_ADDRESS } from '../support/http.ts';
import { turnTo } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import { openWindowHost } from '../support/window-host.ts';

const KEY = /^sy-[0-9a-f]{64}$/;

const choose = (page: Page, address: string) =>
  page.getByLabel('Address at which others connect').selectOption(address);

const sharing = (page: Page) =>
  page.locator('.settings-section', { has: page.locator('.sharing') });

const apply = (page: Page) => page.getByRole('button', { name: 'Apply', exact: true }).click();

/** The squares that are drawn, as `x y`, without the light border of four around them. */
async function darkModules(code: Locator): Promise<readonly string[]> {
  const path = (await code.locator('path').getAttribute('d')) ?? '';
  return [...path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(
    ([, x, y]) => `${Number(x) - 4} ${Number(y) - 4}`,
  );
}

function darkModulesOf(text: string): readonly string[] {
  const { data } = encode(text, { ecc: 'M', border: 0 });
  return data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`${x} ${y}`] : [])));
}

test.skipIf(OUTER_ADDRESS === undefined)(
  'the gateway is shared at once with a new key that works, and closed again at once',
  async () => {
    const address = OUTER_ADDRESS ?? '';
    const { host, page } = await openWindowHost();
    await page.getByRole('link', { name: 'Settings' }).waitFor();
    await turnTo(page, '#/settings/sharing');
    await choose(page, address);
    await apply(page);
    await page.getByText(/^Now open to http/).waitFor();
    await page.getByText('1 key', { exact: true }).waitFor();
    const key = (await page.getByText(KEY).textContent()) ?? '';
    const { port } = new URL(host.snapshot().app.baseUrl);
    const outside = `http://${address}:${port}/v1/models`;
    expect((await fetch(outside)).status).toBe(401);
    const keyed = await fetch(outside, { headers: { authorization: `Bearer ${key}` } });
    expect(await keyed.json()).toMatchObject({ object: 'list' });
    // The window still stands on loopback, with its session.
    expect(new URL(page.url()).hostname).toBe('127.0.0.1');

    await page.getByRole('button', { name: 'Show the link and its QR code' }).click();
    const link = (await page.getByText(/#code=/).textContent()) ?? '';
    const code = page.getByRole('img', { name: 'QR code of the sign-in link' });
    expect(await darkModules(code)).toEqual(darkModulesOf(link));
    expect(await faultsOf(page, sharing(page))).toEqual([]);
    // As the page behind the link does; this browser opens no address but loopback.
    expect(new URL(link).host).toBe(`${address}:${port}`);
    const statuses = [(await redeem(link)).status, (await redeem(link)).status];
    expect(statuses).toEqual([200, 401]);

    await choose(page, '127.0.0.1');
    await apply(page);
    await page.getByText('Now open to this machine only.').waitFor();
    const last = fetch(outside, { headers: { connection: 'close' } });
    await expect(last).rejects.toThrow('fetch failed');
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  },
);

test('the place to add a machine offers sharing in one click, and all networks are saved for the restart with a first key', async () => {
  const { page } = await openWindowHost();
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  await page
    .getByRole('button', { name: /Add a machine|Join/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Only this machine can use this command.').waitFor();
  expect(await dialog.getByText('INGLENOOK_HOST').count()).toBe(0);
  await dialog.getByRole('link', { name: 'Share this gateway on a network' }).click();
  await choose(page, '0.0.0.0');
  await apply(page);
  await page.getByText(/^Saved\. Restart to open it to http/).waitFor();
  await page.getByText(KEY).waitFor();
});
