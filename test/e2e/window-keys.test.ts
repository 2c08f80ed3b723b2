import { expect, test } from 'vitest';
import { startDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

test('a key is created in the dashboard, opens the gateway to an app, is limited, and is revoked', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const status = async (key: string) =>
    (await fetch(`${demo.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'Keys for apps' }).click();
  await page.getByText('none: any app on this machine may connect').waitFor();
  await page.getByLabel('Name of the app').fill('my_laptop!');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('alert').getByText('“Name of the app” must be').waitFor();
  await page.getByLabel('Name of the app').fill('my laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const shown = page.getByText(/^sy-[0-9a-f]{64}$/);
  const key = (await shown.textContent()) ?? '';
  expect([await status(key), await status('none')]).toEqual([200, 401]);
  const row = page.getByRole('listitem').filter({ hasText: 'my laptop' });
  await row.getByText(/not used yet|last used/).waitFor();
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
    const path = `${demo.baseUrl}/chat/completions`;
    return (await fetch(path, { method: 'POST', headers, body })).status;
  };
  expect(await ask()).toBe(200);
  await row.getByRole('button', { name: 'Limits for my laptop' }).click();
  await page.getByLabel('Requests per day').fill('1');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await row.getByText(/^Requests per day: 1 of 1 · used up until/).waitFor();
  await page.getByText('1 key; a limit is used up').waitFor();
  expect(await ask()).toBe(429);
  await row.getByRole('button', { name: 'Revoke my laptop' }).click();
  await page.getByText('It is the last one').waitFor();
  await page.getByRole('button', { name: 'Revoke my laptop', exact: true }).last().click();
  await row.waitFor({ state: 'hidden' });
  expect(await shown.count()).toBe(0);
  expect(await status('none')).toBe(200);
});
