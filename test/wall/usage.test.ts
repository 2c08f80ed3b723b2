import { expect, test } from 'vitest';
import type { HistoryReport } from '#shared/usage.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createLog, type LogFormat } from '../../main/platform/log.ts';
import { chat, chatStream, HELLO, startChat } from '../support/client.ts';
import { chance } from '../support/chance.ts';
import { startGateway, startWithHistory } from '../support/gateway.ts';
import { readExposition } from '../support/exposition.ts';
import { bearer, send } from '../support/http.ts';
import {
  chunk,
  completion,
  cut,
  DONE,
  error,
  json,
  ROLE,
  type Script,
  sse,
  stall,
  startUpstream,
  STOP,
} from '../support/upstream.ts';

const usageOf = (prompt: number, output: number, cached = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  total_tokens: prompt + output,
  prompt_tokens_details: { cached_tokens: cached },
});

const usageChunk = (prompt: number, output: number, cached = 0) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: usageOf(prompt, output, cached) })}\n\n`;

const STREAM = { ...HELLO, model: 'm', stream: true };

async function history(url: string, headers = {}): Promise<HistoryReport> {
  const { text } = await send(`${url}/api/v1/history?range=hour`, { headers });
  return JSON.parse(text) as HistoryReport;
}

const tells: Script = (call) => {
  const options = call.json['stream_options'] as { include_usage?: boolean } | undefined;
  const last = options?.include_usage === true ? [usageChunk(7, 2, 3)] : [];
  return sse(ROLE, chunk({ content: 'hi' }), STOP, ...last, DONE)(call);
};

test('a stream is asked for its usage, and a caller that did not ask does not get it', async () => {
  const upstream = await startUpstream(tells);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  const { text } = await chat(gateway.url, {
    ...STREAM,
    stream_options: { include_obfuscation: false },
  });
  expect(text).toBe(ROLE + chunk({ content: 'hi' }) + STOP + DONE);
  expect(upstream.calls[0]?.json['stream_options']).toEqual({
    include_obfuscation: false,
    include_usage: true,
  });
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 7, output: 2, cached: 3, estimated: false });
});

test('a caller that asks for the usage gets it', async () => {
  const upstream = await startUpstream(tells);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  const { text } = await chat(gateway.url, { ...STREAM, stream_options: { include_usage: true } });
  expect(text).toContain(usageChunk(7, 2, 3));
});

test('a host that refuses to be asked for usage is called again without, and never asked again', async () => {
  const strict: Script = (call) =>
    call.json['stream_options'] === undefined
      ? sse(ROLE, chunk({ content: 'hi' }), STOP, DONE)(call)
      : error(422, 'Extra inputs are not permitted: body.stream_options')(call);
  const upstream = await startUpstream(strict);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  for (let n = 0; n < 2; n += 1) expect((await chatStream(gateway.url)).status).toBe(200);
  expect(upstream.calls.map(({ json: { stream_options: asked } }) => asked !== undefined)).toEqual([
    true,
    false,
    false,
  ]);
  const rows = gateway.host.snapshot().requests;
  expect(rows.map(({ attempts, tokens }) => [attempts.length, tokens?.estimated])).toEqual([
    [1, true],
    [1, true],
  ]);
});

test('a host that refuses without a word breaks one request at most', async () => {
  const strict: Script = (call) =>
    call.json['stream_options'] === undefined
      ? sse(ROLE, chunk({ content: 'hi' }), STOP, DONE)(call)
      : error(400)(call);
  const upstream = await startUpstream(strict);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  const statuses = [];
  for (let n = 0; n < 3; n += 1) statuses.push((await chatStream(gateway.url)).status);
  expect(statuses).toEqual([400, 200, 200]);
});

test('money: what a hosted upstream costs is spent, what local does is saved', async () => {
  const hosted = await startUpstream(
    json(200, { ...completion('hi'), usage: usageOf(1000, 500, 400) }),
  );
  const local = await startUpstream(
    json(200, { ...completion('hi'), usage: usageOf(100, 10) }),
    error(503),
  );
  const gateway = await startWithHistory({
    LOCAL_ENGINE_URL: local.url,
    HOSTED_A_BASE_URL: hosted.url,
    HOSTED_A_PRICE_INPUT: '2',
    HOSTED_A_PRICE_OUTPUT: '10',
    HOSTED_A_PRICE_CACHED: '0.5',
    CURRENCY: 'EUR',
  });
  await chat(gateway.url);
  local.script = error(503);
  await chat(gateway.url);
  const { today, thisMonth, currency } = await history(gateway.url);
  // 100 in and 10 out at 2 and 10 a million; 600 in, 400 cached and 500 out.
  expect([today.savedNano, today.spentNano, currency]).toEqual([300_000, 6_400_000, 'EUR']);
  expect(thisMonth.spentNano).toBe(today.spentNano);
});

test('usage is counted by the name of the key, beside that of all', async () => {
  const upstream = await startUpstream(tells);
  const keys = ['first-key-of-1234', 'second-key-of-12'];
  const gateway = await startWithHistory({
    HOSTED_A_BASE_URL: upstream.url,
    HOSTED_A_PRICE_OUTPUT: '1000',
    API_KEYS: keys.join(','),
  });
  const [first = '', second = ''] = keys;
  for (const key of [first, second, first]) await chat(gateway.url, STREAM, bearer(key));
  const report = await history(gateway.url, bearer(first));
  const by = report.keys.map(
    ({ key, figures: { calls, inputTokens, outputTokens, spentNano } }) => [
      key,
      calls,
      inputTokens,
      outputTokens,
      spentNano / 1e9,
    ],
  );
  expect(by).toEqual([
    ['key 1', 2, 14, 4, 0.004],
    ['key 2', 1, 7, 2, 0.002],
  ]);
  expect([report.today.calls, report.today.inputTokens]).toEqual([3, 21]);
  expect(report.points.map(({ figures }) => figures.calls)).toEqual([3]);
  const metrics = await send(`${gateway.url}/metrics`, { headers: bearer(first) });
  const { series } = readExposition(metrics.text).get('switchyard_key_tokens_total') ?? {};
  expect(series?.get('{"key":"key 1","type":"input"}')).toBe(14);
  expect(series?.get('{"key":"key 2","type":"output"}')).toBe(2);
});

test('requests and history are there again after a restart', async () => {
  const upstream = await startUpstream(tells);
  const settings = { HOSTED_A_BASE_URL: upstream.url };
  const first = await startWithHistory(settings);
  await chat(first.url, STREAM);
  const [row] = first.host.snapshot().requests;
  await first.host.stop();
  const second = await startWithHistory(settings, first.dataDirectory);
  expect(second.host.snapshot().requests).toEqual([row]);
  const { parts, today } = await history(second.url);
  expect([today.calls, today.inputTokens, today.outputTokens]).toEqual([1, 7, 2]);
  expect(parts.map(({ upstream: id, model }) => [id, model])).toEqual([['hosted_a', 'm']]);
});

test.each<[format: LogFormat, line: RegExp]>([
  [
    'text',
    /^\S+ info {2}request id=\S+ endpoint=\S+ model=m stream=true key="key 1" state=done upstream=hosted_a status=200 fallbackReason=none firstContentMs=\d+ ms=\d+ inputTokens=7 outputTokens=2 tokensEstimated=false\n$/,
  ],
  [
    'json',
    /^\{"time":"[^"]+","level":"info","event":"request","id":"[^"]+","endpoint":"[^"]+","model":"m","stream":true,"key":"key 1","state":"done","upstream":"hosted_a","status":200,"fallbackReason":"none","firstContentMs":\d+,"ms":\d+,"inputTokens":7,"outputTokens":2,"tokensEstimated":false\}\n$/,
  ],
])('each request is one line of the log with its times and tokens, as %s', async (format, line) => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format, write: (text) => void lines.push(text) });
  const upstream = await startUpstream(tells);
  const key = 'first-key-of-1234';
  const settings = { HOSTED_A_BASE_URL: upstream.url, API_KEYS: key };
  const gateway = await startGateway(settings, systemClock, log);
  await chat(gateway.url, STREAM, bearer(key));
  expect(lines.filter((each) => each.includes('request')).map((each) => line.test(each))).toEqual([
    true,
  ]);
});

test('without a database routing goes on, and the history says why it is empty', async () => {
  const upstream = await startUpstream(tells);
  const gateway = await startGateway({ HOSTED_A_BASE_URL: upstream.url });
  expect((await chatStream(gateway.url)).status).toBe(200);
  const report = await history(gateway.url);
  expect([report.points, report.problem]).toEqual([[], 'This program keeps no history.']);
});

/** Exchanges of the law below. */
const EXCHANGES = 10_000;
const AT_ONCE = 20;

test('tokens add up to what upstreams reported, exactly, whatever becomes of the exchanges', async () => {
  const random = chance(18);
  const below = (n: number) => Math.floor(random() * n);
  const reported = { input: 0, output: 0, calls: 0 };

  function told(): [prompt: number, output: number] {
    const figures: [number, number] = [below(5000), below(500)];
    reported.input += figures[0];
    reported.output += figures[1];
    return figures;
  }

  /** The first call of an exchange meets what its number says; one that carries on an answer ends it. */
  const script: Script = (call) => {
    reported.calls += 1;
    const kind = call.headers['x-request-id'] ?? 'whole';
    const isSecond = seen.has(keyOf(call));
    seen.add(keyOf(call));
    if (call.json['stream'] !== true) {
      return json(200, { ...completion('hi'), usage: usageOf(...told()) })(call);
    }
    const begun = [ROLE, chunk({ content: 'one ' }), chunk({ content: 'two' })] as const;
    if (!isSecond && kind === 'cut') return cut(...begun)(call);
    if (!isSecond && kind === 'silent') return stall(ROLE)(call);
    if (!isSecond && kind === 'cancel') return stall(...begun)(call);
    if (!isSecond && kind === 'refused') return error(503)(call);
    // A hedge that a busy machine is too early with.
    if (isSecond && kind === 'prompt') return stall(ROLE)(call);
    if (kind === 'untold') return sse(...begun, STOP, DONE)(call);
    return sse(...begun, STOP, usageChunk(...told()), DONE)(call);
  };
  const seen = new Set<string>();
  const keyOf = (call: { readonly json: Record<string, unknown> }) =>
    JSON.stringify(call.json['user']);

  const [a, b] = await Promise.all([startUpstream(script), startUpstream(script)]);
  const settings = {
    HOSTED_A_BASE_URL: a.url,
    HOSTED_B_BASE_URL: b.url,
    HOSTED_A_PREFILL: 'last-message',
    HOSTED_B_PREFILL: 'last-message',
    FAIL_THRESHOLD: '1000000',
    TTFT_SLOW_THRESHOLD: '1000000',
  };
  const steady = await startWithHistory({ ...settings, HEDGE: 'off' });
  const hedging = await startWithHistory({ ...settings, HEDGE_MS: '20', HEDGE_BUDGET: '100' });
  const steadyKinds = ['told', 'told', 'whole', 'cut', 'cancel', 'refused', 'untold'];
  const hedgedKinds = ['prompt', 'silent'];

  async function exchange(n: number): Promise<void> {
    const gateway = n % 10 === 0 ? hedging : steady;
    const kinds = gateway === hedging ? hedgedKinds : steadyKinds;
    const kind = kinds[below(kinds.length)] ?? 'told';
    const isStream = kind !== 'whole';
    const body = { ...HELLO, model: 'm', user: `${n}`, stream: isStream };
    const asks = random() < 0.5 && isStream ? { stream_options: { include_usage: true } } : {};
    const pending = startChat(gateway.url, { ...body, ...asks }, { 'x-request-id': kind });
    if (kind !== 'cancel') return void (await pending.answer);
    await pending.received('two');
    pending.leave();
  }

  let next = 0;
  const worker = async () => {
    while (next < EXCHANGES) {
      next += 1;
      await exchange(next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const { host } of [steady, hedging]) {
    await expect.poll(() => host.snapshot().status.admission.running).toBe(0);
  }

  const reports = await Promise.all([steady, hedging].map(({ url }) => history(url)));
  type Of = (figures: HistoryReport['today']) => number;
  const seenByCallers = (of: Of) => reports.reduce((total, { today }) => total + of(today), 0);
  const seenAtUpstreams = (of: Of) =>
    reports.flatMap(({ parts }) => parts).reduce((total, { figures }) => total + of(figures), 0);
  for (const sum of [seenByCallers, seenAtUpstreams]) {
    const all: Of = (each) => each.inputTokens + each.outputTokens - each.estimatedTokens;
    expect(sum(all)).toBe(reported.input + reported.output);
  }
  expect(seenByCallers(({ calls }) => calls)).toBe(EXCHANGES);
  expect(seenAtUpstreams(({ calls }) => calls)).toBe(reported.calls);
  for (const { today } of reports) expect(today.estimatedTokens).toBeGreaterThan(0);
});
