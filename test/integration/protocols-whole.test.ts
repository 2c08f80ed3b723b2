import { describe, expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  answeredOf,
  askedOf,
  comparable,
  settingsFor,
  WHOLE_PROTOCOLS,
  type WholeProtocol,
} from '../support/protocols.ts';
import { TRANSLATED_PROTOCOLS } from '../support/translated-protocols.ts';
import { responseBytes, startRawUpstream } from '../support/raw-upstream.ts';
import { cutsOf } from '../support/pieces.ts';
import { counted, inFlight } from '../support/report.ts';
import { error, json, type Script, startUpstream, type UpstreamCall } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

/** A gateway with two hosted upstreams: `first` as scripted, and one that answers. */
async function startPair(
  protocol: WholeProtocol,
  first: Script,
  settings = {},
  second = json(200, protocol.whole),
) {
  return startBefore({ a: first, b: second }, { ...settingsFor(protocol), ...settings });
}

const PROTOCOLS = [...WHOLE_PROTOCOLS, ...TRANSLATED_PROTOCOLS];

describe.each(PROTOCOLS)('$name, whole', (protocol) => {
  const { path, body, whole } = protocol;
  const text = JSON.stringify(whole);
  const told = answeredOf(protocol);
  const passed = protocol.translation === null ? ` ${text}\n` : told;

  test('a whole request is passed on byte for byte, to the path of its endpoint', async () => {
    const padded = json(200, ` ${text}\n`);
    const { a, gateway } = await startPair(protocol, padded, { HOSTED_A_ASSEMBLE: 'false' });
    const answer = await startCall(gateway.url + path, body).answer;
    expect(comparable(answer.text)).toBe(passed);
    expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a' });
    expect(answer.headers['content-type']).toBe('application/json');
    const asked = a.calls.map((call) => [call.path, call.body.toString()]);
    expect(asked).toEqual([askedOf(protocol, body)]);
    const alias = await startCall(`${gateway.url}/api${path}`, body).answer;
    expect([alias.status, comparable(alias.text)]).toEqual([200, passed]);
  });

  test.each<readonly [string, Script, string]>([
    ['503', error(503), 'http_503'],
    ['401', error(401), 'credentials'],
    ['an HTML page', json(200, '<html>', { 'content-type': 'text/html' }), 'bad_response'],
    ['half an answer', json(200, text.slice(0, -2)), 'bad_response'],
    ...protocol.unusable.map(
      (value) => [JSON.stringify(value), json(200, value), 'bad_response'] as const,
    ),
  ])('a whole request falls back after %s', async (_what, first, reason) => {
    const { gateway } = await startPair(protocol, first);
    const answer = await startCall(gateway.url + path, body).answer;
    expect(comparable(answer.text)).toBe(told);
    expectServed(answer, 'hosted_b', `hosted_a=${reason}`);
  });

  test('a whole request is the caller’s own fault at 400 once another upstream says so too', async () => {
    const refusals = [error(400, 'bad input'), error(422, 'no such field')] as const;
    const { gateway } = await startPair(protocol, refusals[0], {}, refusals[1]);
    const answer = await startCall(gateway.url + path, body).answer;
    const reason = 'hosted_a=http_400; hosted_b=http_422';
    expect(answer).toMatchObject({ status: 400, upstream: 'hosted_a', reason });
    expect(answer.text).toContain('bad input');
  });

  test('a whole answer that is cut in its head or body falls back, and the caller sees nothing of it', async () => {
    const bytes = responseBytes('length', { 'content-type': 'application/json' }, text);
    // A translation reads the same bytes with the same reader.
    const cuts = cutsOf(bytes, protocol.translation === null ? 13 : 47);
    let length = 0;
    const raw = await startRawUpstream((socket) => void socket.end(bytes.subarray(0, length)));
    const b = await startUpstream(json(200, whole));
    const gateway = await startGateway({
      ...at({ hosted_a: raw.url, hosted_b: b.url }),
      ...settingsFor(protocol),
      FAIL_THRESHOLD: '100000',
    });
    for (length of cuts) {
      const answer = await startCall(gateway.url + path, body).answer;
      expect(answer).toMatchObject({ status: 200, upstream: 'hosted_b' });
      expect(comparable(answer.text)).toBe(told);
    }
  });

  test('a whole request is answered by local alone while no money may be spent', async () => {
    const scripts = { local: error(503), a: json(200, whole) };
    const { url, a } = await startBefore(scripts, settingsFor(protocol));
    const free = { 'x-gateway-force-zero': '1' };
    const { status } = await startCall(url + path, body, free).answer;
    expect([status, a.calls.length]).toEqual([503, 0]);
  });
});

const FORM_TYPE = 'multipart/form-data; boundary=frontier';
const FORM = Buffer.from(
  [
    '--frontier\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n',
    '\u0000RIFF\u00ff',
    '\r\n--frontier\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1',
    '\r\n--frontier--\r\n',
  ].join(''),
  'latin1',
);
const SPEECH = Buffer.from(JSON.stringify({ model: 'tts-1', input: 'hi', voice: 'a' }));

/** Endpoints whose answers need not be JSON. */
const ENDPOINTS = [
  ['speech', '/v1/audio/speech', SPEECH, 'application/json', 'audio/mpeg'],
  ['a transcription', '/v1/audio/transcriptions', FORM, FORM_TYPE, 'text/vtt'],
] as const;

const bytes =
  (type: string, ...parts: readonly Buffer[]): Script =>
  ({ res }) => {
    res.writeHead(200, { 'content-type': type });
    for (const part of parts) res.write(part);
    res.end();
  };

/** The head and a first part; the rest is up to the test. */
const begins =
  (type: string, more = {}): Script =>
  ({ res }) =>
    void res.writeHead(200, { 'content-type': type, ...more }).write('first');

const startTwo = (first: Script, second: Script) =>
  startStill({ a: first, b: second }, { IDLE_TIMEOUT_MS: '5000' });

const kept = (call: UpstreamCall | undefined) => [call?.headers['content-type'], call?.body];

describe.each(ENDPOINTS)('%s', (_name, path, body, type, answerType) => {
  const other = bytes(answerType, Buffer.from('from b'));
  const ask = (url: string) => startCall(url + path, body, { 'content-type': type });
  /** An answer whose first part has come. */
  async function startBegun(more = {}) {
    const pair = await startTwo(begins(answerType, more), other);
    const pending = ask(pair.url);
    await pending.received('first');
    return { ...pair, pending };
  }

  test('a body goes through unchanged both ways, whatever its bytes and however many', async () => {
    const large = Buffer.alloc(3_000_000, 'audio \u00ff\u0000', 'latin1');
    const { a, gateway } = await startTwo(bytes(answerType, large, large), other);
    const answer = await ask(gateway.url).answer;
    expectServed(answer, 'hosted_a');
    expect(answer.headers['content-type']).toBe(answerType);
    expect(answer.headers['x-accel-buffering']).toBe('no');
    expect(answer.body.equals(Buffer.concat([large, large]))).toBe(true);
    expect(kept(a.calls[0])).toEqual([type, body]);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
  });

  test('an answer is passed on from its first byte', async () => {
    const { a, pending } = await startBegun();
    (await a.call(1)).res.end(' last');
    expect((await pending.answer).text).toBe('first last');
  });

  test.each<[string, Script, string]>([
    ['503', error(503), 'http_503'],
    ['an empty answer', bytes(answerType), 'bad_response'],
    ['an error with status 200', json(200, { error: { message: 'no' } }), 'bad_response'],
    ['an HTML page', bytes('text/html', Buffer.from('<html>')), 'bad_response'],
  ])('a request falls back after %s, with the same bytes', async (_what, first, reason) => {
    const { b, gateway } = await startTwo(first, other);
    const answer = await ask(gateway.url).answer;
    expect(answer).toMatchObject({ text: 'from b', reason: `hosted_a=${reason}` });
    expect(kept(b.calls[0])).toEqual([type, body]);
  });

  test.each([{}, { 'content-length': 1000 }])(
    'an answer that is cut never looks complete (%j)',
    async (more) => {
      const { a, b, gateway, pending } = await startBegun(more);
      (await a.call(1)).socket.destroy();
      await expect(pending.answer).rejects.toThrow('aborted');
      expect([b.calls.length, inFlight(gateway)]).toEqual([0, 0]);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
    },
  );

  test('an answer that falls silent is broken off', async () => {
    const { a, clock, pending } = await startBegun();
    clock.advance(5000);
    await expect(pending.answer).rejects.toThrow('aborted');
    await a.gone(1);
  });
});

const transcribe = (url: string) =>
  startCall(`${url}/v1/audio/transcriptions`, FORM, { 'content-type': FORM_TYPE }).answer;

test.each([
  ['its type', 'application/json; charset=utf-8'],
  ['its type twice, as behind some proxies', ['application/json', 'application/json']],
])('a transcription as JSON is checked like any answer by %s', async (_, type) => {
  const text = '{"text":"half"}';
  const half: Script = ({ res }) => void res.setHeader('content-type', type).end(text);
  const { url } = await startTwo(half, json(200, {}));
  const answer = await transcribe(url);
  expect(answer).toMatchObject({ status: 200, text });
  expect(answer.headers['content-type']).toBe('application/json');
});

test('a form is recorded under the model that it names, even after its file', async () => {
  const { gateway, url } = await startTwo(json(200, { text: 'a' }), error(503));
  await transcribe(url);
  expect(gateway.host.snapshot().requests).toMatchObject([{ model: 'whisper-1' }]);
});

test('a transcription request that is not a form gets a 415, and so does speech that is not JSON', async () => {
  const { a, gateway } = await startTwo(error(503), error(503));
  const json415 = startCall(`${gateway.url}/v1/audio/transcriptions`, SPEECH);
  const form415 = startCall(`${gateway.url}/v1/audio/speech`, FORM, { 'content-type': FORM_TYPE });
  expect([(await json415.answer).status, (await form415.answer).status]).toEqual([415, 415]);
  expect(a.calls).toHaveLength(0);
});
