import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createLog } from '../../main/platform/log.ts';
import { chat, HELLO, startCall } from '../support/client.ts';
import { startGateway, startIn } from '../support/gateway.ts';
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
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { history, usageChunk, usageOf } from '../support/usage.ts';
import { startBefore } from '../support/scene.ts';

const STREAM = { ...HELLO, model: 'm', stream: true };

const tells: Script = (call) => {
  const options = call.json['stream_options'] as { include_usage?: boolean } | undefined;
  const last = options?.include_usage === true ? [usageChunk(7, 2, 3)] : [];
  return sse(ROLE, chunk({ content: 'hi' }), STOP, ...last, DONE)(call);
};

test('a stream is asked for its usage, and a caller that did not ask does not get it', async () => {
  const { gateway, a } = await startBefore({ a: tells });
  const { text } = await chat(gateway.url, {
    ...STREAM,
    stream_options: { include_obfuscation: false },
  });
  expect(text).toBe(ROLE + chunk({ content: 'hi' }) + STOP + DONE);
  expect(a.calls[0]?.json['stream_options']).toEqual({
    include_obfuscation: false,
    include_usage: true,
  });
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 7, output: 2, cached: 3, estimated: false });
});

const COMPLETED = { id: 'c', choices: [{ index: 0, text: 'hi', finish_reason: 'stop' }] };

test.each([
  ['chat/completions', HELLO, [ROLE, chunk({ content: 'hi' }), STOP]],
  ['completions', { prompt: 'a' }, [`data: ${JSON.stringify(COMPLETED)}\n\n`]],
])(
  'an upstream that refuses to be asked for usage of %s is called again without, and never asked again',
  async (path, body, events) => {
    const strict: Script = (call) =>
      call.json['stream_options'] === undefined
        ? sse(...events, DONE)(call)
        : error(422, 'Extra inputs are not permitted: body.stream_options')(call);
    const { gateway, a } = await startBefore({ a: strict });
    const ask = () => startCall(`${gateway.url}/v1/${path}`, { ...body, model: 'm', stream: true });
    for (let n = 0; n < 2; n += 1) expect((await ask().answer).status).toBe(200);
    expect(a.calls.map(({ json: { stream_options: asked } }) => asked !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
    const rows = gateway.host.snapshot().requests;
    expect(rows.map(({ attempts, tokens }) => [attempts.length, tokens?.estimated])).toEqual([
      [1, true],
      [1, true],
    ]);
  },
);

test('the cost of a hosted upstream counts as spent, and that of local as saved', async () => {
  const { gateway, local } = await startBefore(
    {
      local: [json(200, { ...completion('hi'), usage: usageOf(100, 10) }), error(503)],
      a: json(200, { ...completion('hi'), usage: usageOf(1000, 500, 400) }),
    },
    {
      HOSTED_A_PRICE_INPUT: '2',
      HOSTED_A_PRICE_OUTPUT: '10',
      HOSTED_A_PRICE_CACHED: '0.5',
      CURRENCY: 'EUR',
    },
  );
  await chat(gateway.url);
  local.script = error(503);
  await chat(gateway.url);
  const { today, thisMonth, currency } = await history(gateway.url);
  // 100 in and 10 out at 2 and 10 a million; 600 in, 400 cached and 500 out.
  expect([today.savedNano, today.spentNano, currency]).toEqual([300_000, 6_400_000, 'EUR']);
  expect(thisMonth.spentNano).toBe(today.spentNano);
});

test('a continued answer costs what the continuing upstream itself has read, cached and written', async () => {
  const rest = [ROLE, chunk({ content: ' it' }), STOP, usageChunk(600, 500, 400), DONE];
  const { gateway } = await startBefore(
    { a: cut(ROLE, chunk({ content: 'half ' }), chunk({ content: 'of' })), b: sse(...rest) },
    {
      HOSTED_B_PREFILL: 'last-message',
      HOSTED_B_PRICE_INPUT: '2',
      HOSTED_B_PRICE_OUTPUT: '10',
      HOSTED_B_PRICE_CACHED: '0.5',
    },
  );
  const { text } = await chat(gateway.url, { ...STREAM, stream_options: { include_usage: true } });
  // Two of the 600 are the text that was sent: to the caller they are part of the answer.
  expect(text).toContain(JSON.stringify(usageOf(598, 502, 400)));
  // 200 in, 400 cached and 500 out.
  expect((await history(gateway.url)).today.spentNano).toBe(5_600_000);
});

test('usage is counted under the name of the key, besides that of all requests', async () => {
  const keys = ['first-key-of-1234', 'second-key-of-12'];
  const { gateway } = await startBefore(
    { a: tells },
    { HOSTED_A_PRICE_OUTPUT: '1000', API_KEYS: keys.join(',') },
  );
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
  const { series } = readExposition(metrics.text).get('inglenook_key_tokens_total') ?? {};
  expect(series?.get('{"key":"key 1","type":"input"}')).toBe(14);
  expect(series?.get('{"key":"key 2","type":"output"}')).toBe(2);
});

test('the requests and the history are there again after a restart', async () => {
  const upstream = await startUpstream(tells);
  const settings = { HOSTED_A_BASE_URL: upstream.url };
  const first = await startGateway(settings);
  await chat(first.url, STREAM);
  const [row] = first.host.snapshot().requests;
  await first.host.stop();
  const second = await startIn(first.dataDirectory, settings);
  expect(second.host.snapshot().requests).toEqual([row]);
  const { parts, today } = await history(second.url);
  expect([today.calls, today.inputTokens, today.outputTokens]).toEqual([1, 7, 2]);
  expect(parts.map(({ upstream: id, model }) => [id, model])).toEqual([['hosted_a', 'm']]);
});

test('each request is one line of the log with its times and tokens', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'text', write: (text) => void lines.push(text) });
  const key = 'first-key-of-1234';
  const { gateway } = await startBefore({ a: tells }, { API_KEYS: key }, systemClock, log);
  await chat(gateway.url, STREAM, bearer(key));
  expect(lines.filter((each) => each.includes('request'))).toEqual([
    expect.stringMatching(
      /^\S+ info {2}request id=\S+ endpoint=\S+ model=m stream=true key="key 1" state=done upstream=hosted_a status=200 fallbackReason=none firstContentMs=\d+ ms=\d+ inputTokens=7 outputTokens=2 tokensEstimated=false\n$/,
    ),
  ]);
});
