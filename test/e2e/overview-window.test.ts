import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Verdict } from '#shared/condition.ts';
import { startModelServer } from '../support/agent.ts';
import { chat } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { askDemo, demoStatus, startDemo } from '../support/demo.ts';
import { readFeed } from '../support/feed.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { openPage, turnTo } from '../support/page.ts';
import { openWindow } from '../support/window-feed.ts';
import { snapshot } from '../renderer/builders.ts';
import { putCardOnPath } from '../support/two-hosts.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { startWindowHost } from '../support/window-host.ts';

const station = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

test('a rented GPU starts at once, and a source that is paused counts down until its button ends the pause', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const last = station(page, 'Rented GPU');
  await page.getByLabel('Start Rented GPU when your GPUs fail').uncheck();
  await page.getByText('It starts only when a request reaches it.').waitFor();
  const description = (await demoStatus(demo)).config.description;
  expect(description).toMatch(/warm-up of ondemand is switched off/);
  await demo.break('ondemand', '500');
  await last.getByRole('button', { name: /Start now/ }).click();
  await last.getByText('starting', { exact: true }).waitFor();
  expect(await last.getByRole('button', { name: /Start now/ }).count()).toBe(0);

  await demo.break('local');
  await Promise.all([1, 2, 3, 4, 5].map(() => askDemo(demo)));
  expect(await askDemo(demo)).toBe('hosted_a: local=circuit_open');
  const local = station(page, 'Your GPUs');
  await local.getByText(/tried again in (1 min 00|\d+) s/).waitFor();
  const retry = local.getByRole('button', { name: 'Try again now Your GPUs' });
  await retry.click();
  await retry.waitFor({ state: 'detached' });
  const heading = local.getByRole('heading');
  expect(await heading.evaluate((it) => it === document.activeElement)).toBe(true);
  await demo.heal('local');
  expect(await askDemo(demo)).toBe('local: none');
  await local.getByText('serving').waitFor();
});

/** A machine with a GPU and an engine. */
async function startOwner() {
  putCardOnPath();
  const engine = await startModelServer(answers('hi'));
  const dataDirectory = temporaryDirectory();
  const host = await startWindowHost({ INGLENOOK_ENGINE_URL: engine.url }, dataDirectory);
  const url = new URL(host.controlLink()).origin;
  const verdict = (): Verdict => host.snapshot().judgement.verdict;
  await readFeed(url);
  await expect.poll(verdict).toEqual({ kind: 'serving', by: 'local' });
  return { engine, host, url, verdict, ...controlOf({ url, dataDirectory }) };
}

test('an engine that dies and comes back after failed requests is shown so without a request', async () => {
  const { engine, host, url, verdict } = await startOwner();
  const page = await openPage(host.controlLink());
  const headline = page.getByRole('heading', { level: 1 });
  const connect = page.getByRole('heading', { name: 'Point an app at it' });
  await connect.waitFor();
  await engine.close();
  // Before any request, the agent sees for itself that the engine is gone.
  const todo = page.getByText(
    `An engine at ${new URL(engine.url).host} does not answer. Start it.`,
  );
  await todo.waitFor();
  await page.getByText('has worked, but does not answer now').waitFor();
  expect(await connect.count()).toBe(1);
  await chat(url);
  await chat(url);
  await expect.poll(() => headline.innerText()).toBe('Nothing can answer now.');
  await engine.reopen();
  await expect.poll(verdict).toEqual({ kind: 'serving', by: 'local' });
  await expect.poll(() => headline.innerText()).toBe('Serving from your GPUs');
  expect(await todo.count()).toBe(0);
  expect((await chat(url)).status).toBe(200);
});

test('a machine that its owner holds back is resumed from the headline, whether or not another source answers', async () => {
  const { host, verdict, post, set } = await startOwner();
  const page = await openPage(host.controlLink());
  const headline = page.getByRole('heading', { level: 1 });
  const service = await startUpstream(answers('hi'));
  const hosted = { hosted_a: { baseUrl: service.url, label: 'Groq' } };
  for (const said of ['Nothing can answer now.', 'Groq']) {
    await post('agent/mode', { mode: 'paused' });
    await expect.poll(() => headline.innerText()).toContain(said);
    await page.getByText('Your GPUs are held back.').waitFor();
    await page.getByRole('button', { name: 'Resume this machine' }).click();
    await expect.poll(verdict).toEqual({ kind: 'serving', by: 'local' });
    await page.getByText('Your GPUs are held back.').waitFor({ state: 'detached' });
    await set(hosted);
  }
});

test('a page whose content cannot be read says so, offers to try again, and reads no longer', async () => {
  const pages = { providers: 'The machines', history: 'The history', models: 'The models' };
  // Only the feed is there.
  const page = await openWindow(snapshot(), '#/');
  for (const [hash, what] of Object.entries(pages)) {
    await turnTo(page, `#/${hash}`);
    const alert = page.getByRole('alert').filter({ hasText: `${what} could not be read` });
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await page.getByText('Loading…').count()).toBe(0);
  }
});
