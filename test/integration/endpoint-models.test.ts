import { describe, expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { error, json, lists } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const VECTORS = json(200, { object: 'list', data: [{ index: 0, embedding: [1] }] });
const RANKS = json(200, { results: [{ index: 0, relevance_score: 1 }] });
const EMBEDDINGS = { path: '/v1/embeddings', body: { input: 'a' }, answers: VECTORS };
const RERANK = { path: '/v1/rerank', body: { query: 'q', documents: ['a'] }, answers: RANKS };

describe.each([EMBEDDINGS, RERANK])('$path', ({ path, body, answers }) => {
  test('an embeddings or rerank request goes to no other model, and to no upstream that is set to another', async () => {
    const { gateway, a, b, c } = await startBefore(
      { a: answers, b: error(503), c: answers },
      { HOSTED_A_MODEL: 'other', HOSTED_B_MODEL: 'mine' },
    );
    const answer = await startCall(gateway.url + path, { ...body, model: 'mine' }).answer;
    expectServed(answer, 'hosted_c', 'hosted_a=model_mismatch; hosted_b=http_503');
    expect(a.calls).toHaveLength(0);
    expect([...b.calls, ...c.calls].map((call) => call.json['model'])).toEqual(['mine', 'mine']);
  });

  test('an embeddings or rerank request skips an engine that does not list its model, and spares its circuit', async () => {
    const get = lists('mine:latest', 'chat');
    const { gateway, local } = await startBefore({ local: { script: answers, get } });
    await local.get(1);
    const ask = (model: string) => startCall(gateway.url + path, { ...body, model }).answer;
    await expect.poll(async () => (await ask('other')).status).toBe(404);
    const answer = await ask('other');
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'model_not_found' } });
    expect(answer.text).toContain('local is set to another model.');
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
      { local: error(503), ondemand: answers },
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
