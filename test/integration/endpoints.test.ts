import { describe, expect, test } from 'vitest';
import { chat, expectServed, startCall } from '../support/client.ts';
import { WHOLE_PROTOCOLS } from '../support/protocols.ts';
import { counted } from '../support/report.ts';
import { answers, error, json, lists, type Script } from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';
import { startGateway } from '../support/gateway.ts';
import { chatOnly } from '../support/speakers.ts';

const SERVED_OTHERWISE = ['chat completions', 'responses', 'messages', 'count_tokens'];
/** Endpoints that nothing can stand in for. */
const OTHERS = WHOLE_PROTOCOLS.filter(({ name }) => !SERVED_OTHERWISE.includes(name));
const TEN_MINUTES_MS = 600_000;

describe.each(OTHERS)('an upstream without $name', ({ path, body, whole }) => {
  test.each([404, 405, 501])(
    'an upstream that answers %i to an endpoint is skipped for it for ten minutes, and its circuit does not count it',
    async (status) => {
      const { gateway, a, clock } = await startStill({
        a: error(status, 'Not Found'),
        b: json(200, whole),
      });
      const ask = () => startCall(gateway.url + path, body).answer;
      for (let n = 0; n < 3; n += 1) {
        const answer = await ask();
        expect(answer).toMatchObject({ status: 200, reason: 'hosted_a=unsupported' });
      }
      expect(a.calls).toHaveLength(1);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
      a.script = answers('hi');
      expect(await chat(gateway.url)).toMatchObject({ status: 200, upstream: 'hosted_a' });
      clock.advance(TEN_MINUTES_MS);
      a.script = json(200, whole);
      expectServed(await ask(), 'hosted_a');
    },
  );

  test('a caller gets a 404 that says so if no upstream has the endpoint', async () => {
    const { gateway } = await startBefore({ a: error(404, 'Not Found') });
    for (let n = 0; n < 2; n += 1) {
      const answer = await startCall(gateway.url + path, body).answer;
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unsupported_endpoint' } });
      expect(answer.text).toContain('hosted_a does not have this endpoint');
      expect([answer.status, answer.upstream]).toEqual([404, 'none']);
    }
  });

  test('a missing endpoint does not hide that another upstream failed', async () => {
    const { gateway } = await startBefore({ a: error(503), b: error(404, 'Not Found') });
    const { status, reason } = await startCall(gateway.url + path, body).answer;
    expect([status, reason]).toEqual([503, 'hosted_a=http_503; hosted_b=unsupported']);
  });
});

test('a missing model, a missing response and a bad image URL are no missing endpoint', async () => {
  const { gateway, a } = await startBefore({ a: error(404, 'The model `m` does not exist.') });
  const ask = () => startCall(`${gateway.url}/v1/responses`, { model: 'n', input: 'hi' }).answer;
  expect((await ask()).reason).toBe('hosted_a=model_not_found');
  a.script = error(404, "Response with id 'resp_1' not found.");
  for (let n = 0; n < 2; n += 1) {
    const request = { model: 'm', input: 'hi', previous_response_id: 'resp_1' };
    const answer = await startCall(`${gateway.url}/v1/responses`, request).answer;
    expect(answer).toMatchObject({ status: 404, upstream: 'hosted_a' });
    expect(answer.text).toContain('resp_1');
  }
  a.script = error(400, 'The image cannot be fetched.', 'invalid_url');
  for (let n = 0; n < 2; n += 1) expect((await ask()).text).toContain('invalid_url');
  expect(a.calls.at(-1)?.path).toBe('/responses');
});

const VECTORS = json(200, { object: 'list', data: [{ index: 0, embedding: [1] }] });
const RANKS = json(200, { results: [{ index: 0, relevance_score: 1 }] });
const EMBEDDINGS = { path: '/v1/embeddings', body: { input: 'a' }, served: VECTORS };
const RERANK = { path: '/v1/rerank', body: { query: 'q', documents: ['a'] }, served: RANKS };

describe.each([EMBEDDINGS, RERANK])('$path', ({ path, body, served }) => {
  test('an embeddings or rerank request goes to no other model, and to no upstream that is set to another', async () => {
    const { gateway, a, b, c } = await startBefore(
      { a: served, b: error(503), c: served },
      { HOSTED_A_MODEL: 'other', HOSTED_B_MODEL: 'mine' },
    );
    const answer = await startCall(gateway.url + path, { ...body, model: 'mine' }).answer;
    expectServed(answer, 'hosted_c', 'hosted_a=model_mismatch; hosted_b=http_503');
    expect(a.calls).toHaveLength(0);
    expect([...b.calls, ...c.calls].map((call) => call.json['model'])).toEqual(['mine', 'mine']);
  });

  test('an embeddings or rerank request skips an engine that does not list its model, and spares its circuit', async () => {
    const get = lists('mine:latest', 'chat');
    const { gateway, local } = await startBefore({ local: { script: served, get } });
    await local.get(1);
    const ask = (model: string) => startCall(gateway.url + path, { ...body, model }).answer;
    await expect.poll(async () => (await ask('other')).status).toBe(404);
    const answer = await ask('other');
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'model_not_found' } });
    expect(answer.text).toContain('local does not serve the model.');
    expect((await ask('mine')).status).toBe(200);
    expect(local.calls.at(-1)?.json['model']).toBe('mine');
  });

  test('an embeddings or rerank request must name its model', async () => {
    const gateway = await startGateway({ HOSTED_A_BASE_URL: 'http://127.0.0.1:9' });
    const { status, text } = await startCall(gateway.url + path, body).answer;
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'model' } }]);
  });

  test('an embeddings or rerank request does not start an ondemand that is set to another model', async () => {
    const { gateway, ondemand } = await startBefore(
      { local: error(503), ondemand: served },
      { ONDEMAND_MODEL: 'chat' },
    );
    const answer = await startCall(gateway.url + path, { ...body, model: 'mine' }).answer;
    expect(answer.reason).toBe('local=http_503; ondemand=model_mismatch');
    expect(gateway.host.snapshot().status.ondemand_warmup).toBe('idle');
    expect([ondemand.calls.length, ondemand.gets.length]).toEqual([0, 0]);
  });
});

test('a caller that asks for vectors in base64 gets them so from an engine that sends numbers', async () => {
  const { gateway, a } = await startBefore({ a: VECTORS });
  const vectorFor = async (encoding_format: string) => {
    const body = { model: 'm', input: 'a', encoding_format };
    const { text } = await startCall(`${gateway.url}/v1/embeddings`, body).answer;
    return JSON.parse(text) as unknown;
  };
  const told = (embedding: unknown) => ({ object: 'list', data: [{ index: 0, embedding }] });
  // 1.0 as a float of 32 bits, the least byte first.
  expect(await vectorFor('base64')).toEqual(told('AACAPw=='));
  expect(await vectorFor('float')).toEqual(told([1]));
  a.script = json(200, told('AACAPw=='));
  expect(await vectorFor('base64')).toEqual(told('AACAPw=='));
  const says = "gemini does not support parameters: {'encoding_format': 'base64'}";
  a.script = (call) => ('encoding_format' in call.json ? error(400, says) : VECTORS)(call);
  expect(await vectorFor('base64')).toEqual(told('AACAPw=='));
});

const ask = (url: string, more = {}, headers = {}) => {
  const messages = [{ role: 'user', content: 'x'.repeat(400) }];
  const body = { model: 'm', messages, ...more };
  return startCall(`${url}/v1/messages/count_tokens`, body, headers).answer;
};

test('the number of tokens is estimated if an upstream does not count', async () => {
  const { gateway } = await startBefore({ a: chatOnly(404) });
  const answer = await ask(gateway.url);
  expectServed(answer, 'none', 'hosted_a=unsupported');
  expect(JSON.parse(answer.text)).toEqual({ input_tokens: 110 });
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  expect(gateway.host.snapshot().requests).toMatchObject([{ state: 'done' }]);
});

test('the number of tokens is estimated rather than asked of others if the own engine does not count', async () => {
  const others = { a: json(200, { input_tokens: 7 }), ondemand: answers('hi') };
  const { gateway, a, ondemand } = await startBefore({ local: chatOnly(404), ...others });
  for (let n = 0; n < 2; n += 1) {
    const answer = await ask(gateway.url);
    expectServed(answer, 'none', 'local=unsupported');
    expect(JSON.parse(answer.text)).toEqual({ input_tokens: 110 });
  }
  expect([a.calls.length, ondemand.gets.length]).toEqual([0, 0]);
});

test('the number of tokens is that of the first upstream that counts', async () => {
  const { gateway, a } = await startBefore(
    { a: answers('hi'), b: json(200, { input_tokens: 7 }) },
    { HOSTED_A_PROTOCOLS: 'chat' },
  );
  expect(JSON.parse((await ask(gateway.url)).text)).toEqual({ input_tokens: 7 });
  expect(a.calls).toHaveLength(0);
});

test('the number of tokens is asked for without the betas and fields that an upstream does not know', async () => {
  // As Bedrock and Vertex for Claude Code (QuantumNous/new-api#3041).
  const refusing = (message: string) => json(400, { type: 'error', error: { message } });
  const strict: Script = (call) => {
    if (call.headers['anthropic-beta'] !== undefined) return refusing('invalid beta flag')(call);
    const isKnown = !('context_management' in call.json);
    const told = refusing('context_management: Extra inputs are not permitted');
    return (isKnown ? json(200, { input_tokens: 7 }) : told)(call);
  };
  const { gateway } = await startBefore({ a: strict }, { HOSTED_A_PROTOCOLS: 'native' });
  const { text } = await ask(gateway.url, { context_management: {} }, { 'anthropic-beta': 'x' });
  expect(JSON.parse(text)).toEqual({ input_tokens: 7 });
});

test('the number of tokens of a request that cannot be translated is a 400', async () => {
  const { gateway } = await startBefore({ a: chatOnly(404) });
  const answer = await ask(gateway.url, { container: 'c' });
  expect([answer.status, answer.text.includes("'container'")]).toEqual([400, true]);
});
