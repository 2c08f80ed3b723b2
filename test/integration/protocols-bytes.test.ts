import { describe, expect, test } from 'vitest';
import { expectServed, startCall } from '../support/client.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import { error, json, type Script, type UpstreamCall } from '../support/upstream.ts';
import { startStill } from '../support/scene.ts';

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
  (type: string, length?: number): Script =>
  ({ res }) => {
    res.writeHead(200, {
      'content-type': type,
      ...(length === undefined ? {} : { 'content-length': length }),
    });
    res.write('first');
  };

const startPair = (first: Script, second: Script) =>
  startStill({ a: first, b: second }, { IDLE_TIMEOUT_MS: '5000' });

const kept = (call: UpstreamCall | undefined) => [call?.headers['content-type'], call?.body];

describe.each(ENDPOINTS)('%s', (_name, path, body, type, answerType) => {
  const other = bytes(answerType, Buffer.from('from b'));
  const ask = (url: string) => startCall(url + path, body, { 'content-type': type });

  test('a body goes through unchanged both ways, whatever its bytes and however many', async () => {
    const large = Buffer.alloc(3_000_000, 'audio \u00ff\u0000', 'latin1');
    const { a, gateway } = await startPair(bytes(answerType, large, large), other);
    const answer = await ask(gateway.url).answer;
    expectServed(answer, 'hosted_a');
    expect(answer.headers['content-type']).toBe(answerType);
    expect(answer.headers['x-accel-buffering']).toBe('no');
    expect(answer.body.equals(Buffer.concat([large, large]))).toBe(true);
    expect(kept(a.calls[0])).toEqual([type, body]);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
  });

  test('an answer is passed on from its first byte', async () => {
    const { a, gateway } = await startPair(begins(answerType), other);
    const pending = ask(gateway.url);
    await pending.received('first');
    (await a.call(1)).res.end(' last');
    expect((await pending.answer).text).toBe('first last');
  });

  test.each<[string, Script, string]>([
    ['503', error(503), 'http_503'],
    ['an empty answer', bytes(answerType), 'bad_response'],
    ['an error with status 200', json(200, { error: { message: 'no' } }), 'bad_response'],
    ['an HTML page', bytes('text/html', Buffer.from('<html>')), 'bad_response'],
  ])('a request falls back after %s, with the same bytes', async (_what, first, reason) => {
    const { b, gateway } = await startPair(first, other);
    const answer = await ask(gateway.url).answer;
    expect(answer).toMatchObject({ text: 'from b', reason: `hosted_a=${reason}` });
    expect(kept(b.calls[0])).toEqual([type, body]);
  });

  test.each([undefined, 1000])(
    'an answer that is cut never looks complete (length %s)',
    async (length) => {
      const { a, b, gateway } = await startPair(begins(answerType, length), other);
      const pending = ask(gateway.url);
      await pending.received('first');
      (await a.call(1)).socket.destroy();
      await expect(pending.answer).rejects.toThrow('aborted');
      expect([b.calls.length, inFlight(gateway)]).toEqual([0, 0]);
      expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
    },
  );

  test('an answer that falls silent is broken off', async () => {
    const { a, clock, gateway } = await startPair(begins(answerType), other);
    const pending = ask(gateway.url);
    await pending.received('first');
    clock.advance(5000);
    await expect(pending.answer).rejects.toThrow('aborted');
    await a.gone(1);
  });

  test('a caller that leaves aborts the upstream call', async () => {
    const { a, b, gateway } = await startPair(begins(answerType), other);
    const pending = ask(gateway.url);
    await pending.received('first');
    pending.leave();
    await a.gone(1);
    await turns(gateway);
    expect([b.calls.length, inFlight(gateway)]).toEqual([0, 0]);
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  });
});

const transcribe = (url: string) =>
  startCall(`${url}/v1/audio/transcriptions`, FORM, { 'content-type': FORM_TYPE }).answer;

test('a transcription as JSON is checked like any answer', async () => {
  const { url } = await startPair(json(200, { text: 'half' }), json(200, {}));
  expect(await transcribe(url)).toMatchObject({ status: 200, text: '{"text":"half"}' });
});

test('a form is recorded under the model that it names, even after its file', async () => {
  const { gateway, url } = await startPair(json(200, { text: 'a' }), error(503));
  await transcribe(url);
  expect(gateway.host.snapshot().requests).toMatchObject([{ model: 'whisper-1' }]);
});

test('a transcription request that is not a form gets a 415, and so does speech that is not JSON', async () => {
  const { a, gateway } = await startPair(error(503), error(503));
  const json415 = startCall(`${gateway.url}/v1/audio/transcriptions`, SPEECH);
  const form415 = startCall(`${gateway.url}/v1/audio/speech`, FORM, { 'content-type': FORM_TYPE });
  expect([(await json415.answer).status, (await form415.answer).status]).toEqual([415, 415]);
  expect(a.calls).toHaveLength(0);
});
