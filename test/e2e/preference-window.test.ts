import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { openPage } from '../support/page.ts';
import { faultsOf } from '../support/sights.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

async function started() {
  const [local, acme] = [await startUpstream(), await startUpstream()];
  for (const each of [local, acme]) each.script = answers('Hello');
  const host = await startWindowHost({
    ...NO_AGENT,
    INGLENOOK_LOCAL_ENGINE_URL: local.url,
    INGLENOOK_HOSTED_B_BASE_URL: acme.url,
    INGLENOOK_HOSTED_B_LABEL: 'Acme',
  });
  return { host, page: await openPage(host.controlLink()) };
}

test('a hosted upstream is put first for an hour, stays so over a reload, and is put back', async () => {
  const { host, page } = await started();
  const names = () => page.locator('.upstream-card h3').allInnerTexts();
  const usual = ['Local', 'Hosted A', 'Acme', 'Hosted C', 'On-demand GPU'];
  await page.getByRole('button', { name: 'Try first for an hour Acme' }).waitFor();
  expect(await names()).toEqual(usual);
  // Only what is set up and not yet first can be put first.
  expect(await page.getByRole('button', { name: /Try first/ }).count()).toBe(1);
  await page.getByRole('button', { name: 'Try first for an hour Acme' }).press('Enter');
  await expect.poll(names).toEqual(['Acme', 'Local', 'Hosted A', 'Hosted C', 'On-demand GPU']);
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Acme');
  expect((await chat(new URL(host.controlLink()).origin)).upstream).toBe('hosted_b');
  await page.getByRole('heading', { name: 'Serving from Acme' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await page.reload();
  await page.getByText(/^First for (59|60) min$/).waitFor();
  expect((await names())[0]).toBe('Acme');
  await page.getByRole('button', { name: 'End Acme' }).click();
  await expect.poll(names).toEqual(usual);
  expect((await chat(new URL(host.controlLink()).origin)).upstream).toBe('local');
  await page.getByRole('heading', { name: 'Serving from Local' }).waitFor();
});
