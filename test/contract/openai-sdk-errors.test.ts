import { APIError, BadRequestError, InternalServerError, NotFoundError, OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { HELLO, rejectionOf } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { counted, inFlight } from '../support/report.ts';
import { chunk, cut, error, json, ROLE, sse, stall, type Script } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

// The `openai` package, unmodified, when things go wrong: it retries twice by default.

function clientOf(gateway: TestGateway, maxRetries?: number): OpenAI {
  const options = { baseURL: `${gateway.url}/v1`, apiKey: 'the-callers-own-key' };
  return new OpenAI(maxRetries === undefined ? options : { ...options, maxRetries });
}

const ASK = { ...HELLO, model: 'm' } as OpenAI.ChatCompletionCreateParamsNonStreaming;
const STREAM = { ...ASK, stream: true } as const;

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

test.each(['aborts', 'leaves the loop'])(
  'a client that %s after the first token ends the upstream call',
  async (how) => {
    const { gateway, a } = await startBefore({ a: stall(ROLE, A) });
    const stream = await clientOf(gateway).chat.completions.create(STREAM);
    for await (const part of stream) {
      if (part.choices[0]?.delta.content !== 'a') continue;
      if (how === 'leaves the loop') break;
      stream.controller.abort();
    }
    await a.gone(1);
    await expect.poll(() => inFlight(gateway)).toBe(0);
    expect(gateway.host.snapshot().requests[0]?.state).toBe('cancelled');
    expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 0 });
  },
);
