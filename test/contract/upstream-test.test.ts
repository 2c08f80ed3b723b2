import { expect, test } from 'vitest';
import type { UpstreamTest } from '#shared/live.ts';
import { chat } from '../support/client.ts';
import { startControlled } from '../support/control.ts';
import { expectError } from '../support/http.ts';
import {
  answers,
  chunk,
  DONE,
  error,
  hang,
  json,
  lists,
  REFUSED_URL,
  sse,
  startUpstream,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

const KEY = 'sk-very-secret-key';
const HOSTED = { HOSTED_A_API_KEY: KEY, HOSTED_A_MODEL: 'gpt' };
const USAGE = `data: ${JSON.stringify({ choices: [], model: 'gpt-large', usage: { prompt_tokens: 12, completion_tokens: 3 } })}\n\n`;

async function tested(settings: Record<string, string>, id = 'hosted_a') {
  const gateway = await startControlled(settings);
  const answer = await gateway.post(`upstreams/${id}/test`);
  expect(answer.status).toBe(200);
  return { gateway, result: JSON.parse(answer.text) as UpstreamTest };
}

/** The test of a hosted upstream with a key and a model. */
async function testedHosted(...scripts: readonly Script[]) {
  const up = await startUpstream(...scripts);
  const settings = { ...at({ hosted_a: up.url }), ...HOSTED, FAIL_THRESHOLD: '1' };
  return { up, ...(await tested(settings)) };
}

test('the test of an upstream is one small completion, and reports its model, times and tokens', async () => {
  const { up, result } = await testedHosted(sse(chunk({ content: 'OK' }), STOP, USAGE, DONE));
  expect(result).toMatchObject({ ok: true, promptTokens: 12, completionTokens: 3 });
  expect(result).toMatchObject({ ttftMs: expect.any(Number), totalMs: expect.any(Number) });
  expect(up.calls).toHaveLength(1);
  expect(up.calls[0]?.json).toMatchObject({ model: 'gpt', max_tokens: 16 });
  expect(up.calls[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
});

test.each([
  [500, 'the engine fell over', 'http_500'],
  [401, `Incorrect API key provided: ${KEY}`, 'credentials'],
  [404, 'The model gpt does not exist', 'model_not_found'],
])(
  'the test of an upstream that meets a %i gives the upstream’s own words, without the key',
  async (status, words, reason) => {
    const { result } = await testedHosted(error(status, words));
    const message = words.replace(KEY, '[secret]');
    expect(result).toMatchObject({ ok: false, reason, message });
  },
);

test('the test of an upstream tells an engine that still loads its model from one that is busy', async () => {
  for (const [words, reason] of [
    ['Loading model', 'starting'],
    ['server busy', 'busy'],
  ] as const) {
    const { url } = await startUpstream(error(503, words));
    const settings = { ...at({ ondemand: url }), ONDEMAND_MODEL: 'large' };
    const { result } = await tested(settings, 'ondemand');
    expect(result).toMatchObject({ ok: false, reason, message: words });
  }
});

test('the test of an upstream says why a port does not answer', async () => {
  const { result } = await tested(at({ local: REFUSED_URL }), 'local');
  expect(result).toMatchObject({ ok: false, reason: 'unreachable' });
  expect(result).toMatchObject({ message: expect.stringMatching(/^nothing listens at /) });
});

test('the test of an upstream uses the newer name of the limit if the older is refused', async () => {
  const words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
  const { up, result } = await testedHosted(error(400, words), answers('OK'));
  expect(result.ok).toBe(true);
  expect(up.calls.map(({ json: body }) => body['max_completion_tokens'])).toEqual([undefined, 16]);
});

test('the test of an upstream leaves circuits, counters and the list of requests as they were', async () => {
  const { gateway } = await testedHosted(error(500, 'no'));
  const { stats, circuits } = await gateway.status();
  expect(circuits['hosted_a']).toMatchObject({ fails: 0, open: false, consecutiveFails: 0 });
  expect([stats.totalRequests, stats.perUpstream['hosted_a']?.requests]).toEqual([0, 0]);
  expect(gateway.host.snapshot().requests).toEqual([]);
});

test('the test of an upstream without a model asks for the list and no completion', async () => {
  const up = await startUpstream(answers('no'));
  up.answerGet = lists('a');
  const { result } = await tested(at({ hosted_a: up.url }));
  expect(result).toMatchObject({ ok: true, model: null });
  expect(up.calls).toEqual([]);
});

test('the test of an engine waits for its list of models, and asks for one of them', async () => {
  const up = await startUpstream(answers('OK'));
  const listed = Promise.withResolvers<void>();
  up.answerGet = (get) => void listed.promise.then(() => lists('qwen')(get));
  const gateway = await startControlled(at({ local: up.url }));
  const answer = gateway.post('upstreams/local/test');
  await gateway.status();
  listed.resolve();
  expect(JSON.parse((await answer).text)).toMatchObject({ ok: true });
  expect(up.calls[0]?.json).toMatchObject({ model: 'qwen' });
});

test.each([{ FORCE_ZERO: 'true' }, { HOSTED_A_BUDGET_DAY: '0', ONDEMAND_BUDGET_MONTH: '0' }])(
  'no test of an upstream costs money with %j, and that of local is made',
  async (settings) => {
    const well = answers('OK');
    const up = { local: well, a: well, ondemand: well };
    const { gateway, a, ondemand } = await startBefore(up, settings);
    for (const id of ['hosted_a', 'ondemand']) {
      const answer = await gateway.post(`upstreams/${id}/test`);
      expect(expectError(answer, 409, 'zero_spend')).toMatch(/cost money/);
    }
    expect([...a.calls, ...ondemand.calls]).toEqual([]);
    expect((await gateway.post('upstreams/local/test')).text).toContain('"ok":true');
  },
);

test('two tests of an upstream at the same time are one call, which ends with the upstream’s timeout', async () => {
  const { gateway, a } = await startBefore({ a: hang }, { ...HOSTED, HOSTED_A_TIMEOUT_MS: '300' });
  const both = await Promise.all([1, 2].map(() => gateway.post('upstreams/hosted_a/test')));
  for (const { text } of both) expect(JSON.parse(text)).toMatchObject({ reason: 'timeout' });
  expect(a.calls).toHaveLength(1);
});

test('the test of an upstream that has a new address neither waits for the former one nor tells of it', async () => {
  const former = await startUpstream(hang);
  const next = await startUpstream(sse(chunk({ content: 'OK' }), STOP, DONE));
  const gateway = await startControlled({ HOSTED_A_MODEL: 'gpt' });
  await gateway.set({ hosted_a: { baseUrl: former.url } });
  const path = 'upstreams/hosted_a/test';
  const first = gateway.post(path);
  const { res } = await former.call(1);
  await gateway.set({ hosted_a: { baseUrl: next.url, apiKey: 'key-2' } });
  expect((await gateway.post(path)).text).toContain('"ok":true');
  const { sightings } = gateway.host.snapshot();
  res.writeHead(401).end('{"error":{"code":"invalid_api_key","message":"no"}}');
  expect((await first).text).toContain('"ok":false');
  expect(gateway.host.snapshot().sightings).toEqual(sightings);
});

test('the test of an upstream needs one that is known and set up', async () => {
  const gateway = await startControlled({});
  for (const id of ['local', 'hosted_c']) {
    expectError(await gateway.post(`upstreams/${id}/test`), 409, 'not_configured');
  }
  const unknown = await gateway.post('upstreams/nobody/test');
  expect(expectError(unknown, 404, 'not_found')).toContain('nobody');
});

async function modelsOf(body: object, settings: Record<string, string> = {}) {
  const gateway = await startControlled(settings);
  return gateway.post('upstreams/hosted_a/models', body);
}

test('the models of an upstream are read from an address and with a key that are not saved', async () => {
  const up = await startUpstream();
  const list = [{ id: 'a' }, { id: 'b' }];
  // Some give a bare array.
  for (const body of [{ data: list }, list]) {
    up.answerGet = json(200, body);
    const { text } = await modelsOf({ baseUrl: `${up.url}/v1`, apiKey: KEY });
    expect(JSON.parse(text)).toEqual({ models: ['a', 'b'] });
  }
  const [get] = up.gets;
  expect([get?.path, get?.headers.authorization]).toEqual(['/v1/models', `Bearer ${KEY}`]);
});

test('the saved key is never sent to list the models at another address', async () => {
  const [saved, other] = [await startUpstream(), await startUpstream()];
  other.answerGet = lists();
  await modelsOf({ baseUrl: other.url }, { ...at({ hosted_a: saved.url }), ...HOSTED });
  expect(other.gets[0]?.headers.authorization).toBeUndefined();
});

test('the models of an upstream that do not come are explained, without the key', async () => {
  const up = await startUpstream();
  up.answerGet = error(401, `bad ${KEY}`);
  const refused = await modelsOf({ baseUrl: up.url, apiKey: KEY });
  expect(expectError(refused, 502, 'upstream_credentials')).toMatch(/rejected.*\[secret\]/);
  expectError(await modelsOf({ baseUrl: REFUSED_URL }), 502, 'upstream_unreachable');
  for (const baseUrl of ['nonsense', 'http://me%4:1b@127.0.0.1:1/v1'])
    expectError(await modelsOf({ baseUrl }), 400, 'invalid_request');
  expectError(await modelsOf({}), 409, 'not_configured');
  up.answerGet = json(200, '<html></html>');
  const page = expectError(await modelsOf({ baseUrl: up.url }), 502, 'upstream_bad_response');
  expect(page).toMatch(/Check the base URL/);
});

test('an upstream that is skipped is called again after a test that it passes, not after one that it fails or a change of another', async () => {
  const { gateway, a } = await startBefore({ a: error(401, 'Incorrect API key provided') }, HOSTED);
  expect((await chat(gateway.url)).status).toBe(502);
  const skips = async () => (await gateway.status()).upstreams[1]?.skips.map((each) => each.reason);
  await gateway.post('upstreams/hosted_a/test');
  await gateway.set({ hosted_b: { timeoutMs: 29_000 } });
  expect(await skips()).toEqual(['credentials']);
  expect(gateway.host.snapshot().judgement.verdict).toEqual({ kind: 'stuck', tries: null });
  a.script = answers('hi');
  const answer = await gateway.post('upstreams/hosted_a/test');
  expect(JSON.parse(answer.text)).toMatchObject({ ok: true });
  expect(await skips()).toEqual([]);
  expect(gateway.host.snapshot().judgement).toMatchObject({
    verdict: { kind: 'serving', by: 'hosted_a' },
    conditions: { hosted_a: { kind: 'closed' } },
  });
  expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
});
