import { expect, test } from 'vitest';
import { startDemo, type RunningDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

function ask(demo: RunningDemo, stream: boolean): Promise<string> {
  return fetch(`${demo.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream, messages: [{ role: 'user', content: 'hi' }] }),
  }).then((response) => response.text());
}

test('a request appears in the dashboard without a reload', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.getByText('No requests yet').waitFor();
  await ask(demo, true);
  await page.getByText('done', { exact: true }).first().waitFor();
  await expect.poll(() => page.locator('main').innerText()).toMatch(/Serving from\s+Local/i);
});

test('an upstream broken in the demo’s dashboard is skipped by the next request', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const control = page.getByRole('combobox', { name: /local/i });
  await control.selectOption('refuse');
  const answered = async () => (await ask(demo, false)).includes('hosted_a');
  // An answer of the demo takes two seconds: the first may still be local's, or be cut off by the break.
  await expect.poll(answered).toBe(true);
  expect(await answered()).toBe(true);
  await page
    .getByText(/Local was unreachable/)
    .first()
    .waitFor();
  await control.selectOption('none');
});

test('the link signs in and leaves the address, and without it the page only reads', async () => {
  const demo = await startDemo();
  const first = await openPage(demo.link);
  await first.getByRole('combobox', { name: /local/i }).waitFor();
  expect(new URL(first.url()).hash).toBe('');
  const second = await openPage(new URL(demo.link).origin);
  await second.getByText(/read-only/).waitFor();
  expect(await second.getByRole('combobox', { name: /local/i }).isDisabled()).toBe(true);
});
