import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import { createLog } from '../../main/platform/log.ts';
import { chat, HELLO, startCall } from '../support/client.ts';
import { startIn } from '../support/gateway.ts';
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
  const own = { include_obfuscation: false };
  const { text } = await chat(gateway.url, { ...STREAM, stream_options: own });
  expect(text).toBe(ROLE + chunk({ content: 'hi' }) + STOP + DONE);
  expect(a.calls[0]?.json['stream_options']).toEqual({ ...own, include_usage: true });
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
    const asked = a.calls.map(({ json: sent }) => 'stream_options' in sent);
    expect(asked).toEqual([true, false, false]);
    const row = { attempts: [{}], tokens: { estimated: true } };
    expect(gateway.host.snapshot().requests).toMatchObject([row, row]);
  },
);

const pricesOf = (hosted: 'A' | 'B') => ({
  [`HOSTED_${hosted}_PRICE_INPUT`]: '2',
  [`HOSTED_${hosted}_PRICE_OUTPUT`]: '10',
  [`HOSTED_${hosted}_PRICE_CACHED`]: '0.5',
});

test('the cost of a hosted upstream counts as spent, and that of local as saved', async () => {
  const { gateway, local } = await startBefore(
    {
      local: [json(200, { ...completion('hi'), usage: usageOf(100, 10) }), error(503)],
      a: json(200, { ...completion('hi'), usage: usageOf(1000, 500, 400) }),
    },
    { ...pricesOf('A'), CURRENCY: 'EUR' },
  );
  await chat(gateway.url);
  local.script = error(503);
  await chat(gateway.url);
  const { today, thisMonth, currency } = await history(gateway.url);
  const rows = gateway.host.snapshot().requests;
  expect(rows.map(({ spentNano }) => spentNano)).toEqual([6_400_000, 0]);
  // 100 in and 10 out at 2 and 10 a million; 600 in, 400 cached and 500 out.
  expect([today.savedNano, today.spentNano, currency]).toEqual([300_000, 6_400_000, 'EUR']);
  expect(thisMonth.spentNano).toBe(today.spentNano);
});

test('a continued answer costs what the continuing upstream itself has read, cached and written', async () => {
  const rest = [ROLE, chunk({ content: ' it' }), STOP, usageChunk(600, 500, 400), DONE];
  const { gateway } = await startBefore(
    { a: cut(ROLE, chunk({ content: 'half ' }), chunk({ content: 'of' })), b: sse(...rest) },
    { HOSTED_B_PREFILL: 'last-message', ...pricesOf('B') },
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
  const ofFirst = { calls: 2, inputTokens: 14, outputTokens: 4, spentNano: 4_000_000 };
  const ofSecond = { calls: 1, inputTokens: 7, outputTokens: 2, spentNano: 2_000_000 };
  expect(report).toMatchObject({
    keys: [
      { key: 'key 1', figures: ofFirst },
      { key: 'key 2', figures: ofSecond },
    ],
    today: { calls: 3, inputTokens: 21 },
  });
  expect(report.points).toMatchObject([{ figures: { calls: 3 } }]);
  const metrics = await send(`${gateway.url}/metrics`, { headers: bearer(first) });
  const { series } = readExposition(metrics.text).get('inglenook_key_tokens_total') ?? {};
  expect(series?.get('{"key":"key 1","type":"input"}')).toBe(14);
  expect(series?.get('{"key":"key 2","type":"output"}')).toBe(2);
});

test('the requests and the history are there again after a restart', async () => {
  const { gateway: first, url } = await startBefore({ a: tells });
  await chat(url, STREAM);
  const [row] = first.host.snapshot().requests;
  await first.host.stop();
  const second = await startIn(first.dataDirectory);
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
