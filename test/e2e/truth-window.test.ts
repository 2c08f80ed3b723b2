import { expect, test } from 'vitest';
import type { Verdict } from '#shared/condition.ts';
import { chat } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { readFeed } from '../support/feed.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { openPage } from '../support/page.ts';
import { openWindow } from '../support/window-feed.ts';
import { snapshot } from '../renderer/builders.ts';
import { putCardOnPath } from '../support/two-hosts.ts';
import { answers, startUpstream, type Upstream } from '../support/upstream.ts';
import { startWindowHost } from '../support/window-host.ts';

/* A machine with a GPU and an engine, as the window tells of it. */

/** An engine on a socket that can be closed and opened again. */
async function startLiveEngine(): Promise<Upstream> {
  const engine = await startUpstream(answers('hi'));
  engine.answerGet = ({ path, res }) => {
    const isKnown = path === '/health' || path === '/v1/models';
    res.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    res.end(path === '/health' ? '{"status":"ok"}' : '{"object":"list","data":[{"id":"m"}]}');
  };
  return engine;
}

async function startOwner() {
  putCardOnPath();
  const engine = await startLiveEngine();
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
  await engine.close();
  await chat(url);
  await chat(url);
  await expect.poll(() => headline.innerText()).toBe('Nothing can answer now.');
  // The agent sees for itself that the engine is gone.
  const todo = page.getByText('Start the engine.');
  await todo.waitFor();
  await engine.reopen();
  await expect.poll(verdict).toEqual({ kind: 'serving', by: 'local' });
  await expect.poll(() => headline.innerText()).toBe('Serving from your GPUs');
  expect(await todo.count()).toBe(0);
  expect((await chat(url)).status).toBe(200);
});

test('a page whose content cannot be read says so, offers to try again, and reads no longer', async () => {
  const pages = { providers: 'The machines', history: 'The history', models: 'The models' };
  // Only the feed is there.
  const page = await openWindow(snapshot(), '#/');
  for (const [hash, what] of Object.entries(pages)) {
    await page.evaluate((to) => void (location.hash = to), `#/${hash}`);
    const alert = page.getByRole('alert').filter({ hasText: `${what} could not be read` });
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await page.getByText('Loading…').count()).toBe(0);
  }
});
