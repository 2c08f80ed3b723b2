import { expect, test } from 'vitest';
import type { PoolReport } from '#shared/status.ts';
import { NOW, snapshot, status } from '../renderer/builders.ts';
import { faultsOf } from '../support/sights.ts';
import { openWindow } from '../support/window-feed.ts';

const [ONE, TWO, THREE] = [
  'attic:47900',
  'cellar:47900',
  'a-machine-with-a-long-name.lab.example:47900',
];

function member(host: string, over: Partial<PoolReport['gateways'][number]> = {}) {
  return {
    id: `gw_${host}`,
    host,
    version: '0.1.0',
    started_at: new Date(NOW - 7_200_000).toISOString(),
    seen_ms: 800,
    behind: 0,
    leases: 2,
    machines: 7,
    verified: 5,
    in_flight: 3,
    requests: 12_345,
    answers: 12_000,
    fallbacks: 40,
    tokens: 6_000_000,
    ...over,
  };
}

const POOL: PoolReport = {
  gateway: `gw_${ONE}`,
  database: 'connected',
  problem: null,
  // Of one that is gone, too.
  totals: { requests: 14_000, answers: 13_500, fallbacks: 45, tokens: 7_000_000 },
  gateways: [
    member(ONE ?? ''),
    member(TWO ?? '', { machines: 5, in_flight: 1, requests: 655, behind: 4 }),
    member(THREE ?? '', { seen_ms: 90_000, machines: 0, in_flight: 0, requests: 0, leases: 0 }),
  ],
};

const machines = {
  revision: 1,
  count: 12,
  verified: 11,
  pending: 1,
  verifying: 0,
  failed: 0,
  serving: 11,
  models: 2,
  load: { lowest: 0, highest: 97 },
};

const opened = (pool: PoolReport | undefined) => {
  const report = pool === undefined ? status() : { ...status(), pool };
  return openWindow(snapshot({ status: report, providers: machines }), '#/');
};

test('the overview shows who is in the pool, what each does, and what of it is done here, on phones and desktops', async () => {
  const page = await opened(POOL);
  const card = page.getByRole('region', { name: 'Gateways of this pool' });
  await card.waitFor();
  expect(await card.locator('.sums dd').allInnerTexts()).toEqual([
    '3',
    '11 of 12',
    expect.stringMatching(/^4\s*3 here$/),
    expect.stringMatching(/^14K\s*12.3K here$/i),
    expect.stringMatching(/^13.5K\s*12K here$/i),
    expect.stringMatching(/^7M\s*6M here$/i),
  ]);
  const rows = await card.getByRole('listitem').allInnerTexts();
  expect(rows[0]).toMatch(/attic:47900.*this one.*here.*version 0\.1\.0.*verified by it\s+5/s);
  expect(rows[1]).toMatch(/4 commits/);
  expect(rows[2]).toMatch(/silent.*last seen 1 min ago/s);
  expect(await faultsOf(page)).toEqual([]);
});

test('the overview says when the database cannot be reached, and has nothing of a pool without one', async () => {
  const problem = 'The pool’s database postgres://db.lan/inglenook does not answer (timeout).';
  const page = await opened({ ...POOL, database: 'away', problem });
  await page.getByText('The database cannot be reached.').waitFor();
  await page.getByText(problem).waitFor();
  const alone = await opened(undefined);
  await alone.getByRole('heading', { name: 'Upstreams, in fallback order' }).waitFor();
  expect(await alone.getByText('pool').count()).toBe(0);
});

test('the way around an upstream that is out is not green while nothing is known to answer', async () => {
  const { judgement } = snapshot();
  const conditions = {
    ...judgement.conditions,
    local: { kind: 'no-provider', cause: 'engine' },
    hosted_a: { kind: 'untested' },
  } as const;
  const stuck = { conditions, verdict: { kind: 'stuck', tries: 'hosted_a' } } as const;
  const page = await openWindow(snapshot({ judgement: stuck }), '#/');
  await page.getByRole('heading', { name: 'Nothing can answer now.' }).waitFor();
  const colours = (selector: string) =>
    page.locator(selector).evaluateAll((all) => all.map((each) => getComputedStyle(each).stroke));
  const [rail] = await colours('.upstream-card[data-flow="none"] .rail-piece');
  expect(await colours('.bypass')).toEqual([rail]);
});
