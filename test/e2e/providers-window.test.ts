import { afterAll, expect, test } from 'vitest';
import type { HostEdges } from '../../main/app/app.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import { axeViolations, closeBrowser, openPage } from '../support/browser.ts';
import { remembering } from '../support/gateway.ts';
import { enrolled, machineAt } from '../support/tier.ts';
import { startUpstream } from '../support/upstream.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

afterAll(closeBrowser);

const start = (store: HostEdges['openStore'], settings: Readonly<Record<string, string>> = {}) =>
  startWindowHost({ ...NO_AGENT, ...settings }, { openStore: store });

test('a machine is looked up, verified anew and removed', async () => {
  const now = Date.now();
  const { stored } = machineAt(await startUpstream(), {
    record: { host: { ...HOST, hostname: 'tower' }, agent_url: 'http://127.0.0.1:3001' },
    verification: { lastCheckAt: now, lastInferenceAt: now },
  });
  const fresh = { ...stored, lastHeartbeatAt: now };
  const state = { providers: enrolled([fresh]), enrollments: [], documents: {} };
  const host = await start(remembering(state));
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Providers' }).click();
  await page.getByRole('link', { name: /tower/ }).click();
  await page.getByRole('heading', { level: 1, name: 'tower' }).waitFor();
  await page.getByText(fresh.id).first().waitFor();
  expect(await axeViolations(page)).toEqual([]);

  await page.getByRole('button', { name: 'Verify now' }).click();
  // Nobody is there any more: the run is short, and says at which address and how.
  await page
    .getByText(/127\.0\.0\.1:3001/)
    .first()
    .waitFor();
  await page
    .getByText(/health \/health status ok/)
    .first()
    .waitFor();

  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove tower' }).click();
  await page.getByText('No machine reports to this gateway yet').waitFor();
  const answer = await fetch(`${new URL(host.controlLink()).origin}/api/v1/providers/${fresh.id}`);
  expect(answer.status).toBe(404);
});

test('the line that joins a machine is shown where control is, and nowhere else', async () => {
  const host = await start(openStore);
  const origin = new URL(host.controlLink()).origin;
  const reader = await openPage(`${origin}/#/providers`);
  await reader.getByText('No machine reports to this gateway yet').waitFor();
  expect(await reader.getByRole('button', { name: 'Add a machine' }).isDisabled()).toBe(true);

  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Providers' }).click();
  await page.getByRole('button', { name: 'Add a machine' }).click();
  const line = await page.getByText(/^switchyard join/).innerText();
  expect(line.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(`^switchyard join ${origin} [0-9a-f]{64}$`),
  );
  expect(await axeViolations(page)).toEqual([]);
});

test('on a network the line that installs is shown with its digest, for machines without the program', async () => {
  const host = await start(openStore, SHARED);
  const page = await openPage(host.controlLink());
  await page.getByRole('link', { name: 'Providers' }).click();
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
  expect(await axeViolations(page)).toEqual([]);
});

test('a machine joins by the pasted line, without a terminal', async () => {
  const other = await start(openStore);
  const otherPage = await openPage(other.controlLink());
  await otherPage.getByRole('link', { name: 'Providers' }).click();
  await otherPage.getByRole('button', { name: 'Add a machine' }).click();
  const line = await otherPage.getByText(/^switchyard join/).innerText();

  const machine = await start(openStore, AGENT);
  // As the tray opens it.
  const page = await openPage(machine.controlLink());
  await page.evaluate(() => (location.hash = '#/join'));
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Join a gateway…' }).click();
  const field = page.getByLabel(/^Paste the line/);
  await field.fill(line.slice(0, 40));
  await page.getByRole('button', { name: 'Join', exact: true }).click();
  await page.getByText(/not a whole line/).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await field.fill(line);
  await page.getByRole('button', { name: /^Join 127/ }).click();
  await field.waitFor({ state: 'detached' });
  await otherPage.getByText(/has joined/).waitFor();
});

const AGENT = {
  SWITCHYARD_AGENT: 'true',
  SWITCHYARD_AGENT_PORTS: '0',
  SWITCHYARD_ENGINE_URL: 'http://127.0.0.1:1',
};
const SHARED = { SWITCHYARD_HOST: '0.0.0.0', SWITCHYARD_API_KEYS: 'a-key-of-my-own-0123456789' };
const HOST = { platform: 'linux', cpu_total: 8, memory_gb: 64, tailnet_hostname: null };
