import { expect, test } from 'vitest';
import type { RequestPage } from '#shared/request-filter.ts';
import { request } from '../renderer/builders.ts';
import { chat, HELLO } from '../support/client.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { expectError, send } from '../support/http.ts';
import { directoryWith } from '../support/data-directory.ts';
import { startMachineAs, startTier } from '../support/tier.ts';
import { answers, completion, error, json } from '../support/upstream.ts';
import { usageOf } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';
import { recordOf } from '../registry/world.ts';
import type { LiveSnapshot } from '#shared/live.ts';
import type { HistoryReport } from '#shared/usage.ts';
import { readExposition } from '../support/exposition.ts';

const KEPT = 300;

const ROWS = Array.from({ length: KEPT }, (_, n) =>
  request(`r${n}`, {
    startedAt: 1_000 + n,
    state: n % 3 === 0 ? 'failed' : 'done',
    model: n % 2 === 0 ? 'qwen3' : 'llama',
    key: n < 10 ? 'laptop' : null,
  }),
);

/** A gateway whose earlier run had these requests; its feed shows the last hundred only. */
const startAfter = (had: Parameters<typeof directoryWith>[0]) => startIn(directoryWith(had));

async function pageAt(url: string, query: string): Promise<RequestPage> {
  const { status, text } = await send(`${url}/api/v1/requests?${query}`);
  expect(status).toBe(200);
  return JSON.parse(text) as RequestPage;
}

const idsOf = ({ data }: RequestPage) => data.map(({ id }) => id);

test('requests of an earlier run are in the feed, listed page by page, and filtered over all that are kept', async () => {
  const { url, host } = await startAfter({ rows: ROWS });
  const newest = await pageAt(url, 'limit=200');
  const ids = ROWS.map(({ id }) => id).toReversed();
  expect(host.snapshot().requests.map(({ id }) => id)).toEqual(ids.slice(0, 100));
  expect(idsOf(newest)).toEqual(ids.slice(0, 200));
  const oldest = newest.data.at(-1)?.startedAt ?? 0;
  expect(idsOf(await pageAt(url, `before=${oldest}`))).toEqual(ids.slice(199, 299));
  const narrowed = await pageAt(url, 'outcome=failed&model=qwen3&key=laptop');
  expect(idsOf(narrowed)).toEqual(['r6', 'r0']);
  expect(narrowed.counts).toEqual({ all: 5, 'first-choice': 3, 'fell-back': 0, failed: 2 });
  expect(newest.facets).toMatchObject({ model: ['llama', 'qwen3'], key: ['laptop'] });
});

test('a request that the feed has forgotten is answered by its id, and an unknown id is a 404', async () => {
  const { url, host } = await startAfter({ rows: ROWS, others: ['{"id":"half"}', 'no json'] });
  expect(host.snapshot().requests.some(({ id }) => id === 'r5')).toBe(false);
  const { text } = await send(`${url}/api/v1/requests/r5`);
  expect(JSON.parse(text)).toEqual(ROWS[5]);
  for (const id of ['half', 'unknown']) {
    expectError(await send(`${url}/api/v1/requests/${id}`), 404, 'not_found');
  }
  expect((await pageAt(url, '')).counts.all).toBe(KEPT);
});

test.each([
  ['outcome=fine', 'outcome'],
  ['limit=0', 'limit'],
  ['limit=501', 'limit'],
  ['before=yesterday', 'before'],
  ['model=a&model=b', 'model'],
])('the query %s is refused, by its name', async (query, param) => {
  const { url } = await startIn(temporaryDirectory());
  const answer = await send(`${url}/api/v1/requests?${query}`);
  expect(expectError(answer, 400, 'invalid_request')).toContain(`'${param}'`);
});

test('a machine goes by its present name in the list, and once removed by the one it had for the request', async () => {
  const record = { host: { ...recordOf().host, hostname: 'tower' } };
  const machine = await startMachineAs({ record }, answers('hi'));
  const { url, call } = await startTier([machine]);
  await chat(url, HELLO);
  const first = await pageAt(url, '');
  expect(first.data[0]?.attempts).toMatchObject([{ provider: machine.id, machine: 'tower' }]);
  expect(first.machines).toEqual({ [machine.id]: 'tower' });

  await call('PUT', `providers/${machine.id}/note`, { name: 'Attic', note: '' });
  expect((await pageAt(url, 'text=tower')).machines).toEqual({ [machine.id]: 'Attic' });

  await call('DELETE', `providers/${machine.id}`);
  expect((await pageAt(url, '')).machines).toEqual({ [machine.id]: 'tower' });
});

test('a third refusal in the same unexplained words is shown with its app, count and cost', async () => {
  const words = 'The harbour is closed for "tea".';
  const { url, gateway } = await startBefore(
    { local: error(400, words), a: json(200, { ...completion('hi'), usage: usageOf(1000, 500) }) },
    { HOSTED_A_PRICE_INPUT: '1', HOSTED_A_PRICE_OUTPUT: '2' },
  );
  const ask = async () => {
    const { reason } = await chat(url, HELLO, { 'user-agent': 'codex/1.2' });
    expect(reason).toBe('local=http_400');
  };
  await ask();
  await ask();
  expect(gateway.host.snapshot().moves).toEqual([]);
  await ask();
  const move = { upstream: 'local', words: `HTTP 400: ${words}`, count: 3, spentNano: 6_000_000 };
  const caller = { userAgent: 'codex/1.2' };
  expect(gateway.host.snapshot().moves).toMatchObject([{ ...move, caller }]);
});

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
