import {
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  OpenAI,
  toFile,
} from 'openai';
import { describe, expect, test } from 'vitest';
import { HELLO, rejectionOf } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  answerChunks,
  answers,
  chunk,
  completion,
  cut,
  DONE,
  error,
  json,
  ROLE,
  type Script,
  sse,
  startUpstream,
} from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { usageChunk, usageOf } from '../support/usage.ts';
import { placedAt } from '../support/speakers.ts';

// The `openai` package, unmodified, as an application uses it.

/** A client with nothing set but the address and a key. */
function clientOf(gateway: TestGateway, prefix = '/v1'): OpenAI {
  return new OpenAI({ baseURL: gateway.url + prefix, apiKey: 'the-callers-own-key' });
}

/** A gateway whose `hosted_a` is scripted, and a client of it. */
async function startHosted(script: Script, settings: Record<string, string> = {}) {
  const { gateway, a } = await startBefore({ a: script }, settings);
  return { upstream: a, gateway, client: clientOf(gateway) };
}

const ASK = { ...HELLO, model: 'my-model' } as OpenAI.ChatCompletionCreateParamsNonStreaming;
const STREAM = { ...ASK, stream: true } as const;

test.each(['/v1', '/api/v1'])('a plain completion comes through %s', async (prefix) => {
  const { upstream, gateway } = await startHosted(answers('hello there'));
  const { completions } = clientOf(gateway, prefix).chat;
  const { data, response } = await completions.create(ASK).withResponse();
  expect(data).toEqual(completion('hello there'));
  expect(response.headers.get('x-gateway-upstream')).toBe('hosted_a');
  expect(upstream.calls.map((call) => call.json['model'])).toEqual(['my-model']);
});

test('a streamed completion comes chunk by chunk, with its usage in the last one if the client asks', async () => {
  const withUsage = sse(...answerChunks('hello there').slice(0, -1), usageChunk(3, 2), DONE);
  const { upstream, client } = await startHosted(withUsage);
  const parts: unknown[] = [];
  const stream = await client.chat.completions.create({
    ...STREAM,
    stream_options: { include_usage: true },
  });
  for await (const { choices, usage } of stream) parts.push(choices[0]?.delta.content ?? usage);
  expect(parts).toEqual(['', 'hello ', 'there', undefined, usageOf(3, 2)]);
  expect(upstream.calls[0]?.json['stream_options']).toEqual({ include_usage: true });
});

// When things go wrong: it retries twice by default.

/** What the client throws. */
async function thrownBy(promise: PromiseLike<unknown>): Promise<APIError> {
  const seen = await rejectionOf(promise);
  expect(seen).toBeInstanceOf(APIError);
  return seen as APIError;
}

const requestsTo = (gateway: TestGateway) => gateway.host.snapshot().status.stats.totalRequests;

const NO_MODEL = error(404, 'The model `m` does not exist', 'model_not_found');

type Thrown = new (...args: never) => APIError;

test.each<[name: string, script: Script, type: Thrown, status: number, code: string]>([
  ['a bad request', error(400, 'temperature', 'bad_value'), BadRequestError, 400, 'bad_value'],
  ['an unknown model', NO_MODEL, NotFoundError, 404, 'model_not_found'],
  ['a crash', error(500), InternalServerError, 502, 'upstream_error'],
  ['an overloaded service', error(503), InternalServerError, 503, 'upstream_unavailable'],
  ['a page', json(200, '<html>'), InternalServerError, 502, 'upstream_bad_response'],
])(
  'the client sends one request and throws the right class when the last upstream answers with %s',
  async (_title, script, type, ...wanted) => {
    for (const ask of [ASK, STREAM]) {
      const { gateway } = await startBefore({ a: script });
      const thrown = await thrownBy(clientOf(gateway).chat.completions.create(ask));
      expect(thrown).toBeInstanceOf(type);
      expect([thrown.status, thrown.code]).toEqual(wanted);
      expect(requestsTo(gateway)).toBe(1);
    }
  },
);

const A = chunk({ content: 'a' });

test.each<[name: string, script: Script, code: string]>([
  ['an error object', sse(ROLE, A, 'data: {"error":{"message":"no"}}\n\n'), 'upstream_error'],
  ['a cut', cut(ROLE, A), 'upstream_bad_response'],
])(
  '%s inside a stream throws in the client after what came before',
  async (_title, script, code) => {
    const { gateway } = await startBefore({ a: script });
    const stream = await clientOf(gateway).chat.completions.create(STREAM);
    const texts: unknown[] = [];
    const read = async () => {
      for await (const part of stream) texts.push(part.choices[0]?.delta.content);
    };
    const thrown = await thrownBy(read());
    expect(texts).toEqual(['', 'a']);
    expect(thrown.code).toBe(code);
    expect(requestsTo(gateway)).toBe(1);
  },
);

// The `openai` package, unmodified, on the endpoints beside chat completions.

/** A client of a gateway whose `local`, or `hosted_a` with a key, is scripted. */
async function startAt(place: 'local' | 'hosted_a', script: Script) {
  const upstream = await startUpstream(script);
  const { url } = await startGateway(placedAt(place, upstream.url));
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'of-the-caller', maxRetries: 0 });
  const key = place === 'local' ? 'Bearer of-the-caller' : 'Bearer sk-hosted';
  return { upstream, client, key };
}

describe.each(['local', 'hosted_a'] as const)('OpenAI’s client through %s', (place) => {
  test(`embeddings come through ${place} in the client’s own coding`, async () => {
    const base64 = Buffer.from(new Float32Array([0.25, -1]).buffer).toString('base64');
    const list = { object: 'list', data: [{ index: 0, embedding: base64 }], model: 'm' };
    const { upstream, client, key } = await startAt(place, json(200, list));
    const { data } = await client.embeddings.create({ model: 'm', input: ['a'] });
    expect(data[0]?.embedding).toEqual([0.25, -1]);
    expect(upstream.calls[0]?.path).toBe('/v1/embeddings');
    expect(upstream.calls[0]?.headers.authorization).toBe(key);
  });

  test(`a transcription of a file comes through ${place}`, async () => {
    const { upstream, client, key } = await startAt(place, json(200, { text: 'spoken' }));
    const file = await toFile(Buffer.from([82, 73, 70, 70, 0, 255]), 'a.wav');
    const { text } = await client.audio.transcriptions.create({ model: 'whisper-1', file });
    expect(text).toBe('spoken');
    const [call] = upstream.calls;
    expect(call?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(call?.headers.authorization).toBe(key);
    expect(call?.body.includes(Buffer.from([82, 73, 70, 70, 0, 255]))).toBe(true);
  });
});
