import { expect, test } from 'vitest';
import { systemClock } from '../../main/platform/clock.ts';
import type { Log } from '../../main/platform/log.ts';
import { SAID } from '../support/chat-answers.ts';
import { postJson, send } from '../support/http.ts';
import { eventsOf, STREAM_PROTOCOLS } from '../support/protocols.ts';
import { chatOnly, saysInChat, startChatOnly } from '../support/speakers.ts';
import { sse } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

// Fields that nobody knew when this was written, and others that chat completions lack.

const NEW = { new_field: { a: 1 } };
const MESSAGE = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const TOOL = { name: 'look', input_schema: { type: 'object' }, ...NEW };

const ANTHROPIC = { ...MESSAGE, tools: [TOOL], inference_geo: 'eu' };
const OPENAI = { model: 'm', input: 'hi', service_tier: 'flex', ...NEW };

test.each<[path: string, asked: object, named: string | undefined]>([
  ['messages', ANTHROPIC, 'inference_geo, tools[0].new_field'],
  ['messages', { ...ANTHROPIC, stream: true }, 'inference_geo, tools[0].new_field'],
  ['messages', MESSAGE, undefined],
  ['responses', OPENAI, 'service_tier, new_field'],
  ['responses', { ...OPENAI, stream: true }, 'service_tier, new_field'],
])(
  'what chat completions lack of a request to /v1/%s is left out and named: %j',
  async (path, asked, named) => {
    const { url, upstream } = await startChatOnly(saysInChat(SAID));
    const answer = await postJson(`${url}/v1/${path}`, asked);
    expect([answer.status, answer.headers['x-gateway-dropped']]).toEqual([200, named]);
    expect(answer.text).toContain('Hel');
    expect(upstream.calls[0]?.body.toString()).not.toMatch(/new_field|inference_geo|flex/);
  },
);

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
