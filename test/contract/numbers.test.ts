import { expect, test } from 'vitest';
import type { LiveSnapshot } from '#shared/live.ts';
import type { RequestPage } from '#shared/request-filter.ts';
import type { HistoryReport } from '#shared/usage.ts';
import { chat } from '../support/client.ts';
import { readExposition } from '../support/exposition.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { send } from '../support/http.ts';
import { answers, error } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

/* One figure, wherever people see it. */

async function read<T>(url: string, path: string): Promise<T> {
  const { status, text } = await send(`${url}/api/v1/${path}`);
  expect(status).toBe(200);
  return JSON.parse(text) as T;
}

/** Requests that fell back and that failed, as each page and the metrics have them. */
async function countsAt(url: string) {
  const { outcomes, status } = await read<LiveSnapshot>(url, 'snapshot');
  const history = await read<HistoryReport>(url, 'history');
  const pageOf = (outcome: string) => read<RequestPage>(url, `requests?outcome=${outcome}`);
  const [fellBack, failed] = [await pageOf('fell-back'), await pageOf('failed')];
  const metrics = readExposition((await send(`${url}/metrics`)).text);
  return {
    overview: [outcomes?.ended['fell-back'], outcomes?.ended.failed],
    history: [history.today.fallbacks, history.today.failures],
    requests: [fellBack.data.length, failed.data.length],
    metrics: metrics.get('inglenook_fallbacks_total')?.series.get('{}'),
    firstChoice: outcomes?.ended['first-choice'],
    report: status.stats.fallbackCount,
  };
}

test('fallbacks and failures are the same number in the overview, the history, the list and the metrics', async () => {
  const { url, a, b } = await startBefore(
    { a: error(503), b: answers('hi') },
    { FAIL_THRESHOLD: '100' },
  );
  await chat(url);
  b.script = error(503);
  await chat(url);
  await chat(url);
  a.script = answers('hi');
  await chat(url);
  expect(await countsAt(url)).toEqual({
    overview: [1, 2],
    history: [1, 2],
    requests: [1, 2],
    metrics: 1,
    firstChoice: 1,
    // The report counts the header, which failed requests have as well.
    report: 3,
  });
});

test('a hosted upstream that answers is the first choice with nothing set up for Local', async () => {
  const { url } = await startBefore({ b: answers('hi') });
  expect((await chat(url)).reason).toBe('none');
  expect(await countsAt(url)).toMatchObject({ overview: [0, 0], history: [0, 0], firstChoice: 1 });
});

test('a failed request that no upstream was called for is still counted after a restart', async () => {
  const directory = temporaryDirectory();
  const first = await startIn(directory);
  expect((await chat(first.url)).status).toBe(503);
  await first.host.stop();
  const second = await startIn(directory);
  expect(await countsAt(second.url)).toMatchObject({ overview: [0, 1], history: [0, 1] });
  expect(second.host.snapshot().status.stats.totalRequests).toBe(1);
});
