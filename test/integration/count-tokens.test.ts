import { expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { counted } from '../support/report.ts';
import { chatOnly } from '../support/speakers.ts';
import { answers, json, type Script } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const ask = (url: string, more = {}, headers = {}) => {
  const messages = [{ role: 'user', content: 'x'.repeat(400) }];
  const body = { model: 'm', messages, ...more };
  return startCall(`${url}/v1/messages/count_tokens`, body, headers).answer;
};

test('the number of tokens is estimated if an upstream does not count', async () => {
  const { gateway } = await startBefore({ a: chatOnly(404) });
  const answer = await ask(gateway.url);
  expectServed(answer, 'none', 'hosted_a=unsupported');
  expect(JSON.parse(answer.text)).toEqual({ input_tokens: 104 });
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  expect(gateway.host.snapshot().requests).toMatchObject([{ state: 'done' }]);
});

test('the number of tokens of a PDF is that of its pages, and not of its base64', async () => {
  const { gateway } = await startBefore({ a: chatOnly(404) });
  const data = Buffer.alloc(1024 * 1024).toString('base64');
  const source = { type: 'base64', media_type: 'application/pdf', data };
  const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
  const { text } = await ask(gateway.url, { messages });
  // Of 16 or 17 pages of a usual size.
  expect((JSON.parse(text) as { input_tokens: number }).input_tokens).toBeCloseTo(33_000, -4);
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
