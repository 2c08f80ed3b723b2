import { expect, test } from 'vitest';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { VERSION } from '../../main/app/version.ts';
import { exposition, metricsOf } from '../../main/gateway/monitoring/metrics.ts';
import { chat, startChat } from '../support/client.ts';
import { readExposition } from '../support/exposition.ts';
import { startGateway } from '../support/gateway.ts';
import { bearer, expectError, send } from '../support/http.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answers, error, hang, startUpstream } from '../support/upstream.ts';

const KEY = 'gateway-key-0123456789';

/** The metrics as a scraper gets them, and one series' value by its labels. */
async function scrape(url: string) {
  const answer = await send(`${url}/metrics`);
  expect([answer.status, answer.headers['content-type']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const metrics = readExposition(answer.text);
  const value = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    metrics.get(name)?.series.get(JSON.stringify(labels));
  return { metrics, value, text: answer.text };
}

const UPSTREAM = (upstream: string) => ({ upstream });

test('with nothing configured every known figure is there, each name with the suffix of its type', async () => {
  const { metrics, value } = await scrape((await startGateway({})).url);
  expect([...metrics.keys()]).toEqual([
    'switchyard_requests_total',
    'switchyard_fallbacks_total',
    'switchyard_hedges_total',
    'switchyard_handovers_total',
    'switchyard_requests_running',
    'switchyard_requests_queued',
    'switchyard_requests_limit',
    'switchyard_requests_refused_total',
    'switchyard_upstream_requests_total',
    'switchyard_upstream_failures_total',
    'switchyard_upstream_successes_total',
    'switchyard_in_flight',
    'switchyard_circuit_open',
    'switchyard_providers',
    'switchyard_ondemand_warmup',
    'switchyard_build_info',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
  ]);
  for (const [name, { type, series }] of metrics) {
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    for (const number of series.values()) expect(number).toBeGreaterThanOrEqual(0);
  }
  expect(value('switchyard_build_info', { version: VERSION })).toBe(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  for (const total of ['requests', 'fallbacks', 'hedges', 'handovers']) {
    expect(value(`switchyard_${total}_total`)).toBe(0);
  }
});

test('what happened at each upstream is counted there', async () => {
  const a = await startUpstream(error(503));
  const b = await startUpstream(answers('hi'));
  const gateway = await startGateway({
    FAIL_THRESHOLD: '2',
    HOSTED_A_BASE_URL: a.url,
    HOSTED_B_BASE_URL: b.url,
  });
  for (let n = 0; n < 3; n += 1) await chat(gateway.url);
  const { value } = await scrape(gateway.url);
  expect(value('switchyard_requests_total')).toBe(3);
  expect(value('switchyard_fallbacks_total')).toBe(3);
  const at = (id: string) =>
    ['requests_total', 'failures_total', 'successes_total', 'healthy', 'first_token_seconds'].map(
      (name) => value(`switchyard_upstream_${name}`, UPSTREAM(id)),
    );
  expect(at('hosted_a')).toEqual([2, 2, 0, 0, undefined]);
  expect(at('hosted_b')).toEqual([3, 0, 3, 1, expect.any(Number)]);
  expect(at('hosted_b')[4]).toBeLessThan(60);
  const open = UPSTREAM_IDS.map((id) => value('switchyard_circuit_open', UPSTREAM(id)));
  expect(open).toEqual([0, 1, 0, 0, 0]);
});

test('each total is shown as what it is', async () => {
  const { host } = await startGateway({});
  const { status, inFlight } = host.snapshot();
  const machines = { count: 0, verified: 0, pending: 0, verifying: 0, failed: 0 };
  const none = { revision: 0, ...machines, serving: 0, models: 0, load: null };
  const figures = {
    version: VERSION,
    status,
    stats: {
      totalRequests: 11,
      fallbackCount: 7,
      hedges: 5,
      handovers: 3,
      inFlight,
      byKey: new Map(),
    },
    providers: none,
    process: { residentBytes: 1, cpuSeconds: 1 },
  };
  const metrics = readExposition(exposition(metricsOf(figures)));
  const shown = ['requests', 'fallbacks', 'hedges', 'handovers'].map((of) => {
    return metrics.get(`switchyard_${of}_total`)?.series.get('{}');
  });
  expect(shown).toEqual([11, 7, 5, 3]);
});

test('an upstream that is not set up is neither healthy nor unwell', async () => {
  const upstream = await startUpstream(answers('hi'));
  const { metrics } = await scrape((await startGateway({ HOSTED_B_BASE_URL: upstream.url })).url);
  const series = metrics.get('switchyard_upstream_healthy')?.series;
  expect([...(series ?? [])]).toEqual([[JSON.stringify(UPSTREAM('hosted_b')), 1]]);
});

test('a request under way is in flight until it ends', async () => {
  const upstream = await startUpstream(hang);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  const inFlight = async () =>
    (await scrape(gateway.url)).value('switchyard_in_flight', UPSTREAM('hosted_a'));
  const pending = startChat(gateway.url);
  await upstream.call(1);
  expect(await inFlight()).toBe(1);
  pending.leave();
  await expect.poll(inFlight).toBe(0);
});

test('machines are counted by their verification, and none of them has a series of its own', async () => {
  const machines = [await startMachine(answers('hi')), await startMachine(error(503))];
  const tier = await startTier(machines);
  const { metrics: before } = await scrape((await startGateway({})).url);
  await chat(tier.url);
  const { metrics, value, text } = await scrape(tier.url);
  expect(value('switchyard_providers', { verification: 'verified' })).toBe(2);
  expect(value('switchyard_providers', { verification: 'failed' })).toBe(0);
  expect(value('switchyard_upstream_healthy', UPSTREAM('local'))).toBe(1);
  expect(value('switchyard_upstream_first_token_seconds', UPSTREAM('local'))).toBe(0);
  for (const { id } of machines) expect(text).not.toContain(id);
  for (const [name, { series }] of before) {
    expect([name, metrics.get(name)?.series.size]).toEqual([name, series.size]);
  }
});

test('the warm-up is in one state', async () => {
  const { metrics } = await scrape((await startGateway({})).url);
  const states = [...(metrics.get('switchyard_ondemand_warmup')?.series ?? [])];
  expect(states).toEqual([
    ['{"state":"idle"}', 1],
    ['{"state":"warming"}', 0],
    ['{"state":"ready"}', 0],
    ['{"state":"failed"}', 0],
  ]);
});

test('with keys set a scraper needs one', async () => {
  const { url } = await startGateway({ API_KEYS: KEY });
  expectError(await send(`${url}/metrics`), 401, 'missing_api_key');
  const wrong = await send(`${url}/metrics`, { headers: bearer(`${KEY}0`) });
  expectError(wrong, 401, 'invalid_api_key');
  for (const headers of [bearer(KEY), { 'x-gateway-key': KEY }]) {
    expect((await send(`${url}/metrics`, { headers })).status).toBe(200);
  }
});

test('another method is refused with those that it takes', async () => {
  const { url } = await startGateway({});
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await send(`${url}/metrics`, { method });
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.allow).toBe('GET, HEAD');
  }
  const head = await send(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, head.text]).toEqual([200, '']);
});

test('no key, address or label of an upstream is in the metrics', async () => {
  const { url } = await startGateway({
    HOSTED_A_BASE_URL: 'http://127.0.0.1:9/v1',
    HOSTED_A_API_KEY: 'sk-secret-0123456789abcdef',
    HOSTED_A_LABEL: 'our vendor',
  });
  const { text } = await scrape(url);
  expect(text).not.toMatch(/127\.0\.0\.1|secret|cdef|vendor/);
});
