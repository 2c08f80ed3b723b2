import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { VERSION } from '../../main/platform/process.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createKeptLog } from '../support/log.ts';
import { SAID } from '../support/chat-answers.ts';
import { chat, chatStream, HELLO, startChat } from '../support/client.ts';
import { readExposition } from '../support/exposition.ts';
import { startGateway } from '../support/gateway.ts';
import { bearer, postJson, send } from '../support/http.ts';
import { startRuledHost } from '../support/ruled-host.ts';
import { saysInChat } from '../support/speakers.ts';
import { startMachine, startTier } from '../support/tier.ts';
import { answerChunks, answers, completion, error, hang, json, sse } from '../support/upstream.ts';
import { costly, history, usageChunk } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';

/** The metrics as a scraper gets them, and one series' value by its labels. */
async function scrape(url: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await send(`${url}/metrics`, { headers });
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

/** A gateway over one upstream whose stream of three words can be drawn out. */
async function startDrawnOut() {
  let sendRest = () => {};
  const [first = '', ...rest] = answerChunks('one two three').slice(1);
  const { url, a } = await startBefore({
    a: ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(first);
      sendRest = () => res.end(usageChunk(10, 3) + rest.join(''));
    },
  });
  return {
    upstream: a,
    url,
    /** An answer whose first word had reached its caller for a while before the rest was sent. */
    drawnOut: async () => {
      const pending = startChat(url, { ...HELLO, stream: true });
      await pending.firstBytes;
      // As long as an answer takes at least of which a rate is taken, which is 50 ms.
      setTimeout(sendRest, 60);
      await pending.answer;
    },
  };
}

test('every known metric is there with nothing configured, each name with the suffix of its type', async () => {
  const { metrics, value } = await scrape((await startGateway({})).url);
  expect([...metrics.keys()]).toEqual([
    'inglenook_requests_total',
    'inglenook_request_duration_seconds',
    'inglenook_fallbacks_total',
    'inglenook_hedges_total',
    'inglenook_resumes_total',
    'inglenook_attempts_total',
    'inglenook_time_to_first_token_seconds',
    'inglenook_time_per_output_token_seconds',
    'inglenook_tokens_total',
    'inglenook_cached_tokens_total',
    'inglenook_reread_tokens_total',
    'inglenook_estimated_tokens_total',
    'inglenook_spent_total',
    'inglenook_saved_total',
    'inglenook_energy_joules_total',
    'inglenook_energy_cost_total',
    'inglenook_requests_running',
    'inglenook_requests_limit',
    'inglenook_requests_refused_total',
    'inglenook_currency_info',
    'inglenook_upstream_in_flight_requests',
    'inglenook_circuit_state',
    'inglenook_providers',
    'inglenook_ondemand_warmup',
    'inglenook_build_info',
    'inglenook_event_loop_utilization_ratio',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
  ]);
  for (const [name, { type, series }] of metrics) {
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    for (const number of series.values()) expect(number).toBeGreaterThanOrEqual(0);
  }
  const warmup = ['idle', 'warming', 'ready', 'failed'].map((state) =>
    value('inglenook_ondemand_warmup', { state }),
  );
  expect(warmup).toEqual([1, 0, 0, 0]);
  expect(value('inglenook_build_info', { version: VERSION })).toBe(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  for (const total of ['requests', 'hedges', 'attempts', 'tokens']) {
    const series = metrics.get(`inglenook_${total}_total`)?.series ?? new Map();
    expect([...new Set(series.values())]).toEqual([0]);
  }
});

test('the metrics count what happened at each upstream', async () => {
  const scripts = { a: error(503), b: answers('hi') };
  const { gateway } = await startBefore(scripts, { FAIL_THRESHOLD: '2' });
  for (let n = 0; n < 3; n += 1) await chat(gateway.url);
  const { value } = await scrape(gateway.url);
  expect(value('inglenook_requests_total', { outcome: 'ok' })).toBe(3);
  expect(value('inglenook_fallbacks_total')).toBe(3);
  const attempts = (upstream: string, reason: string) =>
    value('inglenook_attempts_total', { upstream, reason });
  expect(attempts('hosted_a', 'http_503')).toBe(2);
  expect(attempts('hosted_b', 'none')).toBe(3);
  expect(value('inglenook_skips_total', { upstream: 'hosted_a', reason: 'circuit_open' })).toBe(1);
  const states = UPSTREAM_IDS.map((upstream) =>
    ['closed', 'open', 'half_open'].find(
      (state) => value('inglenook_circuit_state', { upstream, state }) === 1,
    ),
  );
  expect(states).toEqual(['closed', 'open', 'closed', 'closed', 'closed']);
});

test('the times of streamed answers are in histograms, each bound with all below it', async () => {
  const { url, drawnOut } = await startDrawnOut();
  await drawnOut();
  await drawnOut();
  const { metrics } = await scrape(url);
  const names = ['time_to_first_token', 'time_per_output_token', 'request_duration'];
  for (const name of names) {
    const series = metrics.get(`inglenook_${name}_seconds`)?.series ?? new Map<string, number>();
    const labels = name === 'request_duration' ? { outcome: 'ok' } : UPSTREAM('hosted_a');
    const buckets = [...series].filter(
      ([key]) => key.startsWith(JSON.stringify(labels).slice(0, -1)) && key.includes('"le"'),
    );
    const counts = buckets.map(([, count]) => count);
    expect(counts.toSorted((a, b) => a - b)).toEqual(counts);
    expect(counts.at(-1)).toBe(2);
    expect(series.get(`_count${JSON.stringify(labels)}`)).toBe(2);
  }
});

test('an answer that came at once has no token rate, and one that was not streamed no first token', async () => {
  const { upstream, url, drawnOut } = await startDrawnOut();
  await drawnOut();
  upstream.script = sse(answerChunks('one two three').join(''));
  await chatStream(url);
  upstream.script = json(200, completion('one two three'));
  await chat(url);
  const { metrics } = await scrape(url);
  const count = (name: string) =>
    metrics.get(`inglenook_${name}_seconds`)?.series.get('_count{"upstream":"hosted_a"}');
  expect([count('time_to_first_token'), count('time_per_output_token')]).toEqual([2, 1]);
  const { today } = await history(url);
  expect([today.firstTokens, today.timedTokens]).toEqual([2, 2]);
});

test('the metrics tell apart what became of requests, and have one in flight until it ends', async () => {
  const { gateway, a } = await startBefore(
    { a: [error(400), error(503), hang] },
    { RETRY_AFTER_MAX_MS: '1' },
  );
  await chat(gateway.url);
  await chat(gateway.url);
  const pending = startChat(gateway.url);
  await a.call(a.calls.length + 1);
  const figures = async () => {
    const { value } = await scrape(gateway.url);
    const inFlight = value('inglenook_upstream_in_flight_requests', UPSTREAM('hosted_a'));
    const outcomes = ['ok', 'client_error', 'gateway_error', 'aborted'].map((outcome) =>
      value('inglenook_requests_total', { outcome }),
    );
    return { inFlight, outcomes };
  };
  expect(await figures()).toEqual({ inFlight: 1, outcomes: [0, 1, 1, 0] });
  pending.leave();
  await expect.poll(figures).toEqual({ inFlight: 0, outcomes: [0, 1, 1, 1] });
});

test('promtool finds nothing to fix in the metrics', async ({ skip }) => {
  const isMissing = spawnSync('promtool', ['--version']).error !== undefined;
  skip(isMissing, 'SKIPPED: promtool is not installed; it comes with Prometheus');
  const { gateway } = await startBefore({ a: answers('hi') });
  await chatStream(gateway.url);
  const { text } = await scrape(gateway.url);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text });
  expect([status, String(stdout), String(stderr)]).toEqual([0, '', '']);
});

test('the metrics have an upstream that is set up by its place alone, without its key, address or label', async () => {
  const named = { HOSTED_A_API_KEY: 'sk-secret-0123456789abcdef', HOSTED_A_LABEL: 'our vendor' };
  const { metrics, text } = await scrape((await startBefore({ a: hang }, named)).url);
  const series = metrics.get('inglenook_upstream_healthy')?.series;
  expect([...(series ?? [])]).toEqual([[JSON.stringify(UPSTREAM('hosted_a')), 1]]);
  expect(text).not.toMatch(/127\.0\.0\.1|secret|cdef|vendor/);
});

test('the metrics count machines by their verification, and give series only to the machines’ prompts', async () => {
  const machines = [await startMachine(answers('hi')), await startMachine(error(503))];
  const tier = await startTier(machines);
  const { metrics: before } = await scrape((await startGateway({})).url);
  await chat(tier.url);
  const { metrics, value, text } = await scrape(tier.url);
  expect(value('inglenook_providers', { verification: 'verified' })).toBe(2);
  expect(value('inglenook_providers', { verification: 'failed' })).toBe(0);
  expect(value('inglenook_upstream_healthy', UPSTREAM('local'))).toBe(1);
  const others = text.split('\n').filter((line) => !line.startsWith('inglenook_prompt_tokens'));
  for (const { id } of machines) expect(others.join('\n')).not.toContain(id);
  for (const [name, { series }] of before) {
    expect([name, metrics.get(name)?.series.size]).toEqual([name, series.size]);
  }
});

test('this machine’s GPU is in the metrics as last read, and no GPU is there without an agent', async () => {
  const name = 'NVIDIA "Test" 4080';
  const memory = { 'memory.total': 16384, 'memory.used': 512 };
  const rest = { 'utilization.gpu': 90, 'temperature.gpu': 61, 'power.draw': 220.5 };
  const { url } = await startRuledHost({ card: { name, ...memory, ...rest } });
  const figure = async (of: string) =>
    (await scrape(url)).value(`inglenook_gpu_${of}`, { index: '0', name });
  await expect.poll(() => figure('utilization_ratio')).toBe(0.9);
  expect(await figure('memory_total_bytes')).toBe(16 * 2 ** 30);
  expect(await figure('memory_used_bytes')).toBe(2 ** 29);
  expect(await figure('temperature_celsius')).toBe(61);
  expect(await figure('power_watts')).toBe(220.5);
  expect((await scrape((await startGateway({})).url)).text).not.toContain('inglenook_gpu');
});

test('a figure that a GPU does not report is missing from the metrics, not zero', async () => {
  const { url } = await startRuledHost({ card: { name: 'NVIDIA A2', 'memory.total': 16384 } });
  const { metrics } = await scrape(url);
  const names = [...metrics.keys()].filter((name) => name.startsWith('inglenook_gpu'));
  expect(names).toEqual(['inglenook_gpu_memory_total_bytes']);
});

test('the metrics show money as spent, as saved, and against each budget and limit of a key', async () => {
  const budgets = { HOSTED_A_BUDGET_DAY: '0.5', HOSTED_A_BUDGET_MONTH: '10' };
  const { url, gateway, local } = await startBefore(
    { local: costly, a: costly, b: hang },
    { HOSTED_A_PRICE_OUTPUT: '1000', CURRENCY: 'EUR', HOSTED_B_BUDGET_DAY: '0', ...budgets },
  );
  const key = bearer(await gateway.key('laptop', { requestsDay: 8, tokensMonth: 1040 }));
  for (let n = 0; n < 2; n += 1) {
    await chat(url, HELLO, key);
    local.script = error(503);
  }
  const { metrics } = await scrape(url, key);
  const points = (name: string) => [...(metrics.get(`inglenook_${name}`)?.series ?? [])];
  const of = (upstream: string, period: string) => JSON.stringify({ upstream, period });
  expect(points('spent_total').slice(0, 2)).toEqual([
    ['{"upstream":"hosted_a"}', 0.25],
    ['{"upstream":"hosted_b"}', 0],
  ]);
  expect(points('saved_total')).toEqual([['{}', 0.25]]);
  expect(points('budget_limit')).toEqual([
    [of('hosted_a', 'day'), 0.5],
    [of('hosted_a', 'month'), 10],
    [of('hosted_b', 'day'), 0],
  ]);
  expect(points('budget_spent_ratio')).toEqual([
    [JSON.stringify(UPSTREAM('hosted_a')), 0.5],
    [JSON.stringify(UPSTREAM('hosted_b')), 1],
  ]);
  expect(points('budget_spent')).toEqual([
    [of('hosted_a', 'day'), 0.25],
    [of('hosted_a', 'month'), 0.25],
    [of('hosted_b', 'day'), 0],
  ]);
  expect(points('key_limit_used_ratio')).toEqual([
    ['{"key":"laptop","type":"requests","period":"day"}', 0.25],
    ['{"key":"laptop","type":"tokens","period":"month"}', 0.5],
  ]);
  expect(points('currency_info')).toEqual([['{"currency":"EUR"}', 1]]);
});

test('the metrics count requests by the name of their endpoint, which their rows and log lines carry', async () => {
  const { log, lines } = createKeptLog();
  const { url, gateway } = await startBefore({ local: saysInChat(SAID) }, {}, systemClock, log);
  const messages = [{ role: 'user', content: 'hi' }];
  await postJson(`${url}/v1/messages`, { model: 'm', max_tokens: 9, messages });
  await postJson(`${url}/api/v1/responses`, { model: 'm', input: 'hi' });
  for (const _ of [1, 2]) await postJson(`${url}/v1/chat/completions`, { model: 'm', messages });
  await postJson(`${url}/v1/no-endpoint`, {});
  const names = ['messages', 'responses', 'chat/completions', 'chat/completions'];
  const { requests } = gateway.host.snapshot();
  expect(requests.map(({ endpoint }) => endpoint)).toEqual(names.toReversed());
  const logged = lines.filter((line) => line.startsWith('request '));
  expect(logged.map((line) => /"endpoint":"([^"]+)"/.exec(line)?.[1])).toEqual(names);
  const { metrics } = await scrape(url);
  const { series } = metrics.get('inglenook_endpoint_requests_total') ?? {};
  expect([...(series ?? [])]).toEqual([
    ['{"endpoint":"messages"}', 1],
    ['{"endpoint":"responses"}', 1],
    ['{"endpoint":"chat/completions"}', 2],
  ]);
});
