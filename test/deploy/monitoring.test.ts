import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readControlToken } from '../../main/platform/secrets.ts';
import { type Metric, readExposition } from '../support/exposition.ts';
import { startGateway, temporaryDirectory } from '../support/gateway.ts';
import { bearer, postJson, send } from '../support/http.ts';
import { spawnProgram } from '../support/process.ts';
import { pathWithCard } from '../support/two-hosts.ts';
import { answers, error, startUpstream } from '../support/upstream.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const DEPLOY = join(import.meta.dirname, '../../deploy');
const RULES = join(DEPLOY, 'prometheus/inglenook.rules.yml');
const CONFIG = join(DEPLOY, 'prometheus/prometheus.yml');
const RULE_TESTS = join(import.meta.dirname, 'inglenook.rules.test.yml');
const KEY = 'gateway-key-0123456789';

const rules = readFileSync(RULES, 'utf8');
const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana/inglenook.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
};
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
/** Each on a line of its own, or indented below it. */
const conditions = [...rules.matchAll(/ expr: (?:\|\n((?: {10}.+\n)+)|(.+))/g)].map(
  ([, block, line]) => block ?? line ?? '',
);

/** A gateway that everything in the dashboard has happened to. */
async function startBusyGateway(): Promise<string> {
  const failing = await startUpstream(error(503));
  const serving = await startUpstream(answers('one two three'));
  vi.stubEnv('PATH', pathWithCard({ ...CARD, 'power.draw': 220 }));
  const { url, dataDirectory } = await startGateway({
    AGENT: 'true',
    AGENT_PORTS: '0',
    ENGINE_URL: 'http://127.0.0.1:1',
    API_KEYS: KEY,
    FAIL_THRESHOLD: '1',
    HOSTED_A_BASE_URL: failing.url,
    HOSTED_B_BASE_URL: serving.url,
    HOSTED_B_BUDGET_DAY: '10',
  });
  const laptop = { name: 'laptop', limits: { requestsDay: 100 } };
  const control = bearer(readControlToken(dataDirectory) ?? '');
  expect((await postJson(`${url}/api/v1/keys`, laptop, control)).status).toBe(201);
  for (const stream of [true, false, true]) {
    const body = { model: 'm', stream, messages: [{ role: 'user', content: 'hi' }] };
    const answer = await postJson(`${url}/v1/chat/completions`, body, bearer(KEY));
    expect(answer.status).toBe(200);
  }
  // The agent has read its card and has reported.
  const isKnown = /inglenook_upstream_healthy\{upstream="local"\}[^]*inglenook_gpu_power_watts/;
  await expect.poll(() => metricsAt(url)).toMatch(isKnown);
  vi.unstubAllEnvs();
  return url;
}

const CARD = {
  name: 'NVIDIA GeForce RTX 4090',
  'memory.total': 24_564,
  'memory.used': 596,
  'utilization.gpu': 90,
  'temperature.gpu': 43,
};

const metricsAt = async (url: string) =>
  (await send(`${url}/metrics`, { headers: bearer(KEY) })).text;

/** Labels of each series; Prometheus itself adds `job` and `instance`. */
function labelsOf({ series }: Metric): readonly Readonly<Record<string, string>>[] {
  return [...series.keys()].map((key) => ({
    job: 'any',
    instance: 'any',
    ...(JSON.parse(key.slice(key.indexOf('{'))) as Record<string, string>),
  }));
}

/** What an expression names that is not there. */
function missingIn(expr: string, metrics: ReadonlyMap<string, Metric>): readonly string[] {
  const selected = [...expr.matchAll(/\b((?:inglenook|process)_\w+)(?:\{([^}]*)\})?/g)];
  const all = selected.map(([, name = '', matchers = '']) => {
    const metric = metrics.get(name) ?? metrics.get(name.replace(/_bucket$/, ''));
    return { name, matchers, series: metric === undefined ? [] : labelsOf(metric) };
  });
  const matched = all.flatMap(({ name, matchers, series }) => {
    const pairs = [...matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)];
    const isThere = series.some((labels) =>
      pairs.every(([, label = '', how, value]) =>
        how === '=' ? labels[label] === value : labels[label] !== undefined,
      ),
    );
    return isThere ? [] : [`${name}{${matchers}}`];
  });
  const grouped = [...expr.matchAll(/\b(?:by|on|ignoring) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(', '),
  );
  const known = new Set(all.flatMap(({ series }) => series.flatMap(Object.keys)));
  return [...matched, ...grouped.filter((label) => !known.has(label))];
}

function run(program: string, ...args: readonly string[]) {
  const { status, stdout, stderr, error: fault } = spawnSync(program, args, { encoding: 'utf8' });
  return { isMissing: fault !== undefined, status, said: stdout + stderr };
}

const NO_PROMETHEUS = 'SKIPPED: promtool or prometheus is not installed';
const isInstalled = ['promtool', 'prometheus'].every((each) => !run(each, '--version').isMissing);

test('every metric and label that the rules and the dashboard use exists, and the docs list all', async () => {
  const metrics = readExposition(await metricsAt(await startBusyGateway()));
  expect(conditions).toHaveLength(alerts.length);
  expect(queries.length).toBeGreaterThan(30);
  const missing = [...conditions, ...queries].flatMap((expr) => missingIn(expr, metrics));
  expect(missing).toEqual([]);
  const page = ['guides/monitoring.md', 'reference/metrics.md']
    .map((name) => readFileSync(join(DEPLOY, '../docs', name), 'utf8'))
    .join('\n');
  const told = [...metrics.keys()].map((name) => name.replace(/^inglenook_/, ''));
  // With its labels in braces.
  expect(told.filter((name) => !new RegExp(`\`${name}[\`{]`).test(page))).toEqual([]);
  const wrong = 'sum by (color) (inglenook_attempts_total{reason="no"}) / inglenook_nothing';
  expect(missingIn(wrong, metrics)).toEqual([
    'inglenook_attempts_total{reason="no"}',
    'inglenook_nothing{}',
    'color',
  ]);
});

test('every alert says what happened and what to do, and has its test', () => {
  expect(alerts.length).toBeGreaterThan(8);
  const tests = readFileSync(RULE_TESTS, 'utf8');
  for (const [index, alert] of alerts.entries()) {
    const rule = rules.split('- alert: ')[index + 1] ?? '';
    expect(rule).toMatch(/summary: '?.+\.'?\n +description: .+\.\n/);
    expect(rule).toMatch(/severity: (critical|warning|info) /);
    expect(tests).toMatch(new RegExp(`alertname(="|: )${alert}\\b`));
  }
});

test('promtool accepts metrics, configuration and rules, and each alert comes and goes when it should', async ({
  skip,
}) => {
  skip(!isInstalled, NO_PROMETHEUS);
  for (const args of [
    ['check', 'config', '--lint=all', '--lint-fatal', CONFIG],
    ['check', 'rules', '--lint=all', '--lint-fatal', RULES],
    ['test', 'rules', RULE_TESTS],
  ]) {
    const { status, said } = run('promtool', ...args);
    expect([status, said]).toEqual([0, expect.stringContaining('SUCCESS')]);
  }
  const input = await metricsAt(await startBusyGateway());
  const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
  expect([status, String(stderr)]).toEqual([0, '']);
});

/** The example in a directory of its own, for this gateway, and fast. */
function exampleFor(gateway: string): string {
  const directory = temporaryDirectory();
  cpSync(RULES, join(directory, 'inglenook.rules.yml'));
  const keyFile = join(directory, 'key');
  writeFileSync(keyFile, KEY);
  const changes = [
    ['localhost:47900', new URL(gateway).host],
    ['# authorization:', 'authorization:'],
    ['#   credentials_file: /etc/prometheus/inglenook-key', `  credentials_file: ${keyFile}`],
    ['scrape_interval: 15s', 'scrape_interval: 1s'],
    ['evaluation_interval: 15s', 'evaluation_interval: 1s'],
  ] as const;
  let config = readFileSync(CONFIG, 'utf8');
  for (const [example, own] of changes) {
    expect(config).toContain(example);
    config = config.replace(example, own);
  }
  writeFileSync(join(directory, 'prometheus.yml'), config);
  return directory;
}

async function startPrometheus(directory: string) {
  const program = spawnProgram(
    [
      'sh',
      '-c',
      'exec prometheus "$@" 2>&1',
      'sh',
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
    ],
    { PATH: process.env['PATH'] },
  );
  const address = await program.printed(/msg="Listening on" address=(\S+)/);
  await program.printed(/Server is ready/);
  const get = async <T>(path: string) => {
    const answer = await send(`http://${address}/api/v1/${path}`);
    expect([path, answer.status, answer.text]).toEqual([path, 200, expect.any(String)]);
    return (JSON.parse(answer.text) as { readonly data: T }).data;
  };
  return {
    get,
    async query(expr: string) {
      type Found = { readonly result: readonly { readonly value: readonly [number, string] }[] };
      const { result } = await get<Found>(`query?query=${encodeURIComponent(expr)}`);
      return result.map(({ value }) => value[1]);
    },
  };
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly name: string;
      readonly health: string;
      readonly lastError?: string;
    }[];
  }[];
}

test('a real Prometheus scrapes the gateway by the example, judges all rules, and answers every panel', async ({
  skip,
}) => {
  skip(!isInstalled, NO_PROMETHEUS);
  const prometheus = await startPrometheus(exampleFor(await startBusyGateway()));
  await expect.poll(() => prometheus.query('up')).toEqual(['1']);
  const judged = async () => {
    const { groups } = await prometheus.get<Rules>('rules');
    return groups.flatMap((group) =>
      group.rules.map(({ name, health, lastError }) => [name, health, lastError ?? '']),
    );
  };
  await expect.poll(judged).toEqual(alerts.map((alert) => [alert, 'ok', '']));

  const unanswered = async () => {
    const given = queries.map((query) =>
      query.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*'),
    );
    const found = await Promise.all(given.map((query) => prometheus.query(query)));
    return given.filter((_query, index) => found[index]?.length === 0);
  };
  await expect.poll(unanswered).toEqual([]);
});

test('the panels of the monitoring dashboard have titles and numbers of their own, and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { type, title, gridPos, targets = [] } of panels) {
    expect(title).not.toBe('');
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect([title, targets.length > 0]).toEqual([title, type !== 'row']);
  }
});
