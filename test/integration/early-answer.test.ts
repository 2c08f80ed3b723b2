import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startCall } from '../support/client.ts';
import { eventsOf, STREAM_PROTOCOLS, type StreamProtocol } from '../support/protocols.ts';
import { ask, PLAIN, startOnly, startStill, STREAM } from '../support/scene.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import { turns } from '../support/report.ts';
import { chatBytes, openWire } from '../support/wire.ts';
import { answerChunks, answers, error, hang, json, sse } from '../support/upstream.ts';

const KEEP_ALIVE_MS = 30_000;

const SIGN: Readonly<Record<string, string>> = {
  messages: 'event: ping\n',
  responses: 'event: response.in_progress\n',
};
const signOf = ({ path }: StreamProtocol) =>
  SIGN[path.slice(4)] ?? ': waiting for the first token\n';

/** A gateway before an engine that is still reading when two signs of life are due. */
async function startReading(settings: Readonly<Record<string, string>> = {}) {
  const { gateway, local, clock } = await startStill({ local: hang }, settings);
  const untilSigns = async () => {
    const call = await local.call(1);
    await turns(gateway);
    clock.advance(KEEP_ALIVE_MS);
    clock.advance(KEEP_ALIVE_MS - 1);
    return call;
  };
  return { ...gateway, clock, engine: local, untilSigns };
}

const timesIn = (text: string, part: string) => text.split(part).length - 1;

describe.each([...STREAM_PROTOCOLS, ...TRANSLATED_PROTOCOLS])('$name', (protocol) => {
  const settings = protocol.translation === null ? {} : { LOCAL_PROTOCOLS: 'chat' };

  test(`a stream of ${protocol.name} begins with signs of life while its prompt is read`, async () => {
    const patient = { ...settings, LOCAL_TIMEOUT_MS: '120000' };
    const { url, clock, untilSigns } = await startReading(patient);
    const body = { ...protocol.body, stream: true };
    const pending = startCall(url + protocol.path, body);
    const call = await untilSigns();
    await pending.received(signOf(protocol));
    clock.advance(1);
    await sse(...eventsOf(protocol))(call);
    const { status, upstream, text } = await pending.answer;
    expect([status, upstream]).toEqual([200, 'local']);
    const [before = '', after = ''] = text.split(': answered by local\n\n');
    expect(timesIn(before, signOf(protocol))).toBe(2);
    const numbers = Array.from(text.matchAll(/"sequence_number":(\d+)/g), ([, n]) => Number(n));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(after).not.toContain('response.created');
    expect(timesIn(text, protocol.endMark)).toBe(1);
  });

  test(`a whole answer of ${protocol.name} begins with white space while its prompt is read`, async () => {
    const { url, untilSigns } = await startReading(settings);
    const pending = startCall(url + protocol.path, protocol.body);
    const call = await untilSigns();
    await pending.received(' ');
    await (call.json['stream'] === true
      ? sse(...eventsOf(protocol))(call)
      : json(200, protocol.whole)(call));
    const { upstream, text } = await pending.answer;
    expect(upstream).toBe('local');
    expect(text).toMatch(/^ \{/);
    expect(JSON.parse(text)).toMatchObject(protocol.assembled as object);
  });

  test.each([true, false])(
    `if nobody answers, the error of ${protocol.name} comes behind the signs of life (stream: %s)`,
    async (stream) => {
      const { url, clock, untilSigns } = await startReading(settings);
      const pending = startCall(url + protocol.path, { ...protocol.body, stream });
      const call = await untilSigns();
      await pending.received(stream ? signOf(protocol) : ' ');
      clock.advance(1);
      await call.gone;
      const { text } = await pending.answer;
      const event = text.split('\ndata: ').at(-1) ?? text;
      const told: unknown = JSON.parse(stream ? event.replace(/^data: /, '') : text);
      expect(JSON.stringify(told)).toContain('upstream_timeout');
    },
  );
});

test.each([
  ['a last comment', STREAM, [true, undefined, undefined]],
  ['trailers', PLAIN, [false, 'hosted_a', 'local=timeout']],
])(
  'an early answer names in %s and in Requests who really answered',
  async (_where, body, told) => {
    const scene = await startStill({ local: hang, a: answers('paid') });
    const { pending } = await ask(scene, scene.local, body);
    scene.clock.advance(KEEP_ALIVE_MS);
    const head = await pending.head;
    expect(head.headers).toMatchObject({ 'x-gateway-upstream': 'local' });
    scene.clock.advance(KEEP_ALIVE_MS);
    const { text } = await pending.answer;
    expect(text).toContain('paid');
    expect([
      text.includes(': answered by hosted_a (local=timeout)\n\n'),
      head.trailers['x-gateway-upstream'],
      head.trailers['x-gateway-fallback-reason'],
    ]).toEqual(told);
    const [row] = scene.gateway.host.snapshot().requests;
    expect(row).toMatchObject({ upstream: 'hosted_a', fallbackReason: 'local=timeout' });
  },
);

test('an early answer says why the upstreams before the one that it waits for were skipped', async () => {
  const scene = await startStill({ a: hang, ondemand: hang }, { HOSTED_A_BUDGET_DAY: '0' });
  const { pending } = await ask(scene, scene.ondemand);
  scene.clock.advance(KEEP_ALIVE_MS);
  const { headers } = await pending.head;
  expect(headers).toMatchObject({ 'x-gateway-fallback-reason': 'hosted_a=budget' });
});

test('an early answer needs no trailers for a caller of HTTP/1.0, such as nginx', async () => {
  const { url, untilSigns } = await startReading();
  const wire = await openWire(url);
  wire.send(chatBytes(PLAIN).replace('HTTP/1.1', 'HTTP/1.0'));
  const call = await untilSigns();
  await wire.received('\r\n\r\n ');
  await sse(...answerChunks('read'))(call);
  expect(await wire.closed).toMatch(/\r\n\r\n \{.*"read".*\}$/s);
});

test.each([
  ['with KEEP_ALIVE_MS=0', { KEEP_ALIVE_MS: '0' }, 'local'],
  ['for a hosted upstream', { HOSTED_A_TIMEOUT_MS: '90000' }, 'hosted_a'],
] as const)('no early answer begins %s', async (_says, settings, id) => {
  const scene = await startOnly(id, hang, settings);
  const { pending, call } = await ask(scene, scene.only);
  scene.clock.advance(2 * KEEP_ALIVE_MS - 1);
  error(400)(call);
  expect(await pending.answer).toMatchObject({ status: 400, upstream: id });
});

test('OpenAI’s and Anthropic’s clients read answers that began before their first token', async () => {
  const hi = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
  const kept = { apiKey: 'any', maxRetries: 0 };
  const openai = (url: string) => new OpenAI({ ...kept, baseURL: `${url}/v1` });
  const anthropic = (url: string) => new Anthropic({ ...kept, baseURL: url });
  const textIn = (content: Anthropic.ContentBlock[]) =>
    content.map((block) => 'text' in block && block.text).join('');
  const input = { model: 'm', input: 'hi' };
  const short = { ...hi, max_tokens: 9 };
  const said: ((url: string) => Promise<string | null | undefined>)[] = [
    async (url) => (await openai(url).chat.completions.create(hi)).choices[0]?.message.content,
    (url) => openai(url).chat.completions.stream(hi).finalContent(),
    async (url) => (await openai(url).responses.create(input)).output_text,
    async (url) => (await openai(url).responses.stream(input).finalResponse()).output_text,
    async (url) => textIn((await anthropic(url).messages.create(short)).content),
    (url) => anthropic(url).messages.stream(short).finalText(),
  ];
  for (const say of said)
    for (const protocols of ['chat', 'auto']) {
      const { url, untilSigns } = await startReading({ LOCAL_PROTOCOLS: protocols });
      const text = say(url);
      const call = await untilSigns();
      const native = [...STREAM_PROTOCOLS].find(({ path }) => call.path.endsWith(path));
      if (native === undefined) throw new Error(call.path);
      await sse(...eventsOf(native))(call);
      expect(await text).toMatch(/^ab/);
    }
});
