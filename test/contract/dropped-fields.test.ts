import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { SAID } from '../support/chat-answers.ts';
import { postJson, send } from '../support/http.ts';
import { eventsOf, STREAM_PROTOCOLS } from '../support/protocols.ts';
import { chatOnly, saysInChat, startChatOnly } from '../support/speakers.ts';
import { sse } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

// Fields that nobody knew when this was written, from unmodified clients that send them.

const NEW = { new_field: { a: 1 } };
const MESSAGE = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] };
const TOOL = { name: 'look', input_schema: { type: 'object' as const }, ...NEW };

test('a new field of Anthropic’s client is left out for chat completions and named, whole and streamed', async () => {
  const { url, upstream } = await startChatOnly(saysInChat(SAID));
  const client = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 });
  const asked = { ...MESSAGE, tools: [TOOL], inference_geo: 'eu' };
  const { data, response } = await client.messages.create(asked).withResponse();
  expect(data.content).toMatchObject([{ type: 'text', text: 'Hello.' }]);
  expect(response.headers.get('x-gateway-dropped')).toBe('inference_geo, tools[0].new_field');
  const streamed = await client.messages.stream(asked).withResponse();
  expect(streamed.response.headers.get('x-gateway-dropped')).toBe(
    'inference_geo, tools[0].new_field',
  );
  expect(await streamed.data.finalText()).toBe('Hello.');
  expect(upstream.calls.map(({ json: sent }) => Object.keys(sent))).not.toContainEqual(
    expect.arrayContaining(['inference_geo']),
  );
});

test('a new field of OpenAI’s client is left out for chat completions and named, whole and streamed', async () => {
  const { url } = await startChatOnly(saysInChat(SAID));
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
  const asked = { model: 'm', input: 'hi', service_tier: 'flex' as const, ...NEW };
  const { data, response } = await client.responses.create(asked).withResponse();
  expect(data.output_text).toBe('Hello.');
  expect(response.headers.get('x-gateway-dropped')).toBe('service_tier, new_field');
  const stream = await client.responses.create({ ...asked, stream: true }).withResponse();
  expect(stream.response.headers.get('x-gateway-dropped')).toBe('service_tier, new_field');
  for await (const event of stream.data) expect(event.type).not.toBe('error');
});

test('a request from which nothing is left out has no header of dropped fields', async () => {
  const { url } = await startChatOnly(saysInChat(SAID));
  expect((await postJson(`${url}/v1/messages`, MESSAGE)).headers).not.toHaveProperty(
    'x-gateway-dropped',
  );
});

test.each(STREAM_PROTOCOLS.filter(({ name }) => name === 'messages' || name === 'responses'))(
  'an upstream that speaks $name gets every byte of a new field',
  async (protocol) => {
    const { url, a } = await startBefore(
      { a: sse(...eventsOf(protocol)) },
      { HOSTED_A_PROTOCOLS: 'native' },
    );
    // Whole answers are asked for as streams.
    const body = `{"new_field" : 1, "stream" : true,${JSON.stringify(protocol.body).slice(1)}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await send(url + protocol.path, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty('x-gateway-dropped');
    expect(a.calls[0]?.body.toString()).toBe(body);
  },
);

test('a dropped field is named when an upstream turns out to lack the protocol', async () => {
  const { url } = await startBefore({ a: chatOnly(404, saysInChat(SAID)) });
  const answer = await postJson(`${url}/v1/messages`, { ...MESSAGE, ...NEW });
  expect(answer).toMatchObject({ status: 200, headers: { 'x-gateway-dropped': 'new_field' } });
});

test('the log names each dropped field once, whichever element has it, and not endlessly many', async () => {
  const lines: string[] = [];
  const log: Log = (level, event, fields) => {
    if (event !== 'field_dropped') return;
    lines.push(`${level} ${fields?.['protocol']} ${fields?.['field']}`);
  };
  const settings = { HOSTED_A_PROTOCOLS: 'chat' };
  const { url } = await startBefore({ a: saysInChat(SAID) }, settings, systemClock, log);
  const ask = (fields: object) => postJson(`${url}/v1/messages`, { ...MESSAGE, ...fields });
  await ask({ ...NEW, tools: [TOOL, { ...TOOL, name: 'see' }] });
  await ask(NEW);
  await postJson(`${url}/v1/responses`, { input: 'hi', ...NEW });
  expect(lines).toEqual([
    'info /messages new_field',
    'info /messages tools[].new_field',
    'info /responses new_field',
  ]);
  for (let n = 0; n < 10; n += 1) {
    const many = Array.from({ length: 15 }, (_, m) => [`${n}_${m}_${'x'.repeat(500)}`, 1]);
    await ask(Object.fromEntries(many) as object);
  }
  expect(lines).toHaveLength(100);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(120);
});

test('a page of an allowed origin may read what was left out', async () => {
  const origin = 'https://chat.example.com';
  const { url } = await startBefore(
    { a: saysInChat(SAID) },
    { HOSTED_A_PROTOCOLS: 'chat', ALLOWED_ORIGINS: origin },
  );
  const { headers } = await postJson(`${url}/v1/messages`, { ...MESSAGE, ...NEW }, { origin });
  expect(headers['x-gateway-dropped']).toBe('new_field');
  expect(headers['access-control-expose-headers']).toContain('X-Gateway-Dropped');
});
