import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { directoryWith } from '../support/data-directory.ts';
import { gpuDevice } from '../support/agent-record.ts';
import { turnTo } from '../support/page.ts';
import { recordOf } from '../registry/world.ts';
import { enrolled, shownMachine } from '../support/tier.ts';
import { putCardOnPath } from '../support/two-hosts.ts';
import { openWindowHost } from '../support/window-host.ts';

test('a machine is looked up, tested again and removed', async () => {
  const at = { agent_url: 'http://127.0.0.1:3001', host: { hostname: 'tower' } };
  const fresh = shownMachine('prv_1', at);
  const { page, url } = await openWindowHost({}, directoryWith({ providers: [fresh] }));
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  const tower = page.getByRole('link', { name: /tower/ });
  await tower.waitFor();
  // Few machines need no search.
  expect(await page.getByRole('searchbox').count()).toBe(0);
  const happened = {
    at: '2026-11-20T14:00:00.000Z',
    kind: 'status',
    text: 'Its engine has changed.',
  };
  const data = Array.from({ length: 60 }, () => happened);
  await page.route('**/history', (route) => route.fulfill({ json: { data } }));
  await tower.click();
  await page.getByRole('heading', { level: 1, name: 'tower' }).waitFor();
  const history = page.getByRole('log', { name: 'History' });
  await history.waitFor();
  expect(await axeViolations(page, history)).toEqual([]);
  await page.getByText(fresh.id).first().waitFor();

  await page.getByRole('button', { name: 'Test now' }).click();
  // Nobody is there any more: the run is short, and says at which address and how.
  await page
    .getByText(/127\.0\.0\.1:3001/)
    .first()
    .waitFor();
  await page.getByText('Agent reachable').first().waitFor();

  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove tower' }).click();
  await page.getByText('No machine with a GPU reports to this gateway yet').waitFor();
  expect((await fetch(`${url}/api/v1/providers/${fresh.id}`)).status).toBe(404);
});

test('a thousand machines scroll by wheel, keys and sorting with few rows drawn, and are found by their owner’s names and notes', async () => {
  const { page } = await openWindowHost({}, directoryWith({ providers: machines(1000) }));
  await page.getByText('2 models · GPU load 3%').waitFor();
  await page.getByRole('link', { name: '1,000 of 1,000 machines serving' }).click();
  await page.getByText(/^1,000 machines/).waitFor();
  expect(new URL(page.url()).hash).toBe('#/providers');
  const rows = page.locator('.provider');
  expect(await rows.count()).toBeLessThan(60);
  await page.getByRole('link', { name: 'gpu-0', exact: true }).focus();
  await page.keyboard.press('End');
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await expect.poll(focused).toBe('gpu-999');
  expect(await rows.count()).toBeLessThan(60);
  await page.mouse.wheel(0, -20_000);
  await page
    .getByRole('link', { name: /^gpu-[1-8]\d{2}$/ })
    .first()
    .waitFor();
  await page.getByLabel('Sort by').selectOption('temperature');
  await page.evaluate(() => scrollTo(0, 0));
  await rows.first().getByText('89 °C').waitFor();

  await page.getByRole('searchbox').fill('gpu-77');
  await page.getByRole('link', { name: 'gpu-77', exact: true }).click();
  await page.getByLabel('Your name for it').fill('Attic');
  await page.getByLabel('Note', { exact: true }).fill('second fan is loud');
  await page.getByRole('form', { name: 'Name and note' }).getByRole('button').click();
  await page.getByRole('heading', { level: 1, name: 'Attic' }).waitFor();
  await page.getByRole('link', { name: 'All machines' }).click();
  await page.getByRole('searchbox').fill('loud');
  await page.getByRole('link', { name: 'Attic' }).waitFor();
  await expect.poll(() => rows.count()).toBe(1);
});

test('the install command is shown on a network with its digest, for machines without the program', async () => {
  const { page } = await openWindowHost(SHARED);
  await page.getByRole('link', { name: 'Machines', exact: true }).click();
  await page.getByRole('button', { name: 'Add a machine' }).click();
  // Beyond loopback without TLS the owner is asked first.
  await page
    .getByRole('button', { name: 'Continue over plain HTTP' })
    .or(page.getByText(/^curl/))
    .first()
    .waitFor();
  const go = page.getByRole('button', { name: 'Continue over plain HTTP' });
  if ((await go.count()) > 0) await go.click();
  const line = await page.getByText(/^curl -fsS/).innerText();
  expect(line).toMatch(/\/install \| sh -s -- [0-9a-f]{64}$/);
  await page
    .getByText(/^[0-9a-f]{64}$/)
    .first()
    .waitFor();
  expect(await axeViolations(page, page.getByRole('dialog'))).toEqual([]);
});

test('a machine joins by the pasted join command, without a terminal, and is told apart from one of its name', async () => {
  putCardOnPath();
  const { page: otherPage } = await openWindowHost(AGENT);
  await otherPage.getByRole('link', { name: 'Machines', exact: true }).click();
  // At once, when the list of machines may not have been read yet.
  await otherPage.getByRole('button', { name: 'Add a machine' }).click();
  const card = otherPage.getByRole('region', { name: /^This machine/ });
  const link = card.getByRole('link', { name: 'See its tests and history.' });
  expect(await link.getAttribute('href')).toMatch(/^#\/providers\/prv_/);
  // One that is alone has no row.
  expect(await otherPage.locator('.provider-name').count()).toBe(0);
  const line = await otherPage.getByText(/^inglenook join/).innerText();

  const { page, url } = await openWindowHost(AGENT);
  // As the tray opens it.
  await turnTo(page, '#/join');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Join a gateway…' }).click();
  const field = page.getByLabel(/^Paste the join command/);
  for (const damaged of [
    line.slice(0, 40),
    line.replace(/:\d+/, ':port'),
    line.replace(/:\d+/, '$&99999'),
  ]) {
    await field.fill(damaged);
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.getByText(/not the whole command/).waitFor();
  }
  await field.fill(line);
  await page.getByRole('button', { name: /^Join 127/ }).click();
  await field.waitFor({ state: 'detached' });
  const name = `${hostname()} (${(await idAt(url)).slice(4, 12)})`;
  await otherPage.getByText(`${name} has joined.`).waitFor();
  await expect.poll(() => otherPage.locator('.provider-name').count()).toBe(2);
  await otherPage.getByRole('link', { name: `See ${name}`, exact: true }).click();
  await expect.poll(() => otherPage.getByRole('heading', { level: 1 }).innerText()).toContain(name);
});

/** The id of the machine that a gateway runs on. */
async function idAt(url: string): Promise<string> {
  return ((await (await fetch(`${url}/api/v1/agent`)).json()) as { id: string }).id;
}

/** Verified machines that reported just now, with GPUs of 40 to 89 °C. */
function machines(count: number) {
  const { gpu } = recordOf();
  const all = Array.from({ length: count }, (_, index) => {
    const devices = [gpuDevice({ temperature_c: 40 + (index % 50) })];
    const host = { hostname: `gpu-${index}` };
    return shownMachine(`prv_${index}`, { host, gpu: { ...gpu, devices } });
  });
  return enrolled(all);
}

const AGENT = {
  INGLENOOK_AGENT: 'true',
  INGLENOOK_AGENT_PORTS: '0',
  INGLENOOK_ENGINE_URL: 'http://127.0.0.1:1',
};
const SHARED = { INGLENOOK_HOST: '0.0.0.0', INGLENOOK_API_KEYS: 'a-key-of-my-own-0123456789' };
