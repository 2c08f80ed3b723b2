import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { postJson } from '../support/http.ts';
import { listening } from '../support/listening.ts';
import { asVariables, type RunningCli, startProgram } from '../support/process.ts';
import { answers, error, startUpstream } from '../support/upstream.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code: number };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<Span, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

/** Takes what OpenTelemetry's protocol sends over HTTP as JSON. */
async function startCollector() {
  const bodies: string[] = [];
  const url = await listening(
    createServer((req, res) => {
      let body = '';
      req.setEncoding('utf8').on('data', (part: string) => (body += part));
      req.on('end', () => {
        if (req.url === '/v1/traces') bodies.push(body);
        res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    }),
  );
  return {
    url: `http://127.0.0.1:${url}`,
    text: () => bodies.join('\n'),
    resources: () => exports().map(({ resource }) => valuesOf(resource)),
    spans: () => exports().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  };

  function exports() {
    return bodies.flatMap((body) => (JSON.parse(body) as Export).resourceSpans);
  }
}

function valuesOf(told?: Pick<Span, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(
    (told?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
  );
}

async function startTraced(collector: string, settings: Readonly<Record<string, string>>) {
  const own = { PORT: '0', AGENT: 'false', DATA_DIR: temporaryDirectory() };
  const cli: RunningCli = startProgram({
    ...asVariables({ ...own, ...settings }),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_SERVICE_NAME: 'house',
  });
  onTestFinished(() => cli.kill('SIGKILL'));
  const baseUrl = await cli.printed(/Base URL for your apps: (\S+)/);
  return {
    chat: (headers: Readonly<Record<string, string>> = {}) =>
      postJson(`${baseUrl}/chat/completions`, { model: 'm', messages: [SECRET_MESSAGE] }, headers),
    async stop() {
      cli.kill('SIGTERM');
      return await cli.ended;
    },
  };
}

const SECRET_MESSAGE = { role: 'user', content: 'my diary' };

test('a request is a span of its caller’s trace, each attempt a child of it, and the upstream’s parent', async () => {
  const collector = await startCollector();
  const local = await startUpstream(error(503));
  const hosted = await startUpstream(answers('Hello'));
  const gateway = await startTraced(collector.url, {
    LOCAL_ENGINE_URL: `${local.url}/v1`,
    HOSTED_A_BASE_URL: `${hosted.url}/v1`,
    HOSTED_A_API_KEY: 'sk-secret-of-hosted-a',
  });
  const traceId = 'a'.repeat(32);
  const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;
  expect((await gateway.chat({ traceparent })).status).toBe(200);
  await gateway.stop();

  const spans = collector.spans();
  const request = spans.find(({ kind }) => kind === SERVER);
  const attempts = spans.filter(({ kind }) => kind === CLIENT);
  expect(request).toMatchObject({ traceId, parentSpanId: 'b'.repeat(16), name: 'chat m' });
  expect(valuesOf(request)).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.provider.name': 'hosted_a',
    'http.response.status_code': 200,
    'inglenook.fallback_reason': 'local=http_503',
    'inglenook.request.state': 'done',
  });
  expect(collector.resources()[0]).toMatchObject({ 'service.name': 'house' });

  const asked = [...local.calls, ...hosted.calls].map(({ headers }) => headers['traceparent']);
  expect(attempts.map(({ spanId }) => `00-${traceId}-${spanId}-01`)).toEqual(asked);
  expect(attempts.every(({ parentSpanId }) => parentSpanId === request?.spanId)).toBe(true);
  const [first, ...others] = attempts.map((span) => ({ ...valuesOf(span), ...span.status }));
  expect(first).toMatchObject({
    'gen_ai.provider.name': 'local',
    'error.type': 'http_503',
    code: ERROR,
  });
  expect(others.at(-1)).toMatchObject({ 'gen_ai.provider.name': 'hosted_a', code: 0 });
  expect(collector.text()).not.toMatch(/my diary|sk-secret|Hello/);
});

test('the caller’s trace reaches the upstream as it came without a collector', async () => {
  const hosted = await startUpstream(answers('Hello'));
  const gateway = await startTraced('', { HOSTED_A_BASE_URL: `${hosted.url}/v1` });
  const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  await gateway.chat({ traceparent });
  await gateway.stop();
  expect(hosted.calls[0]?.headers).toMatchObject({ traceparent });
});

test('a trace that its caller does not keep is not kept here either', async () => {
  const collector = await startCollector();
  const hosted = await startUpstream(answers('Hello'));
  const gateway = await startTraced(collector.url, { HOSTED_A_BASE_URL: `${hosted.url}/v1` });
  await gateway.chat({ traceparent: `00-${'e'.repeat(32)}-${'f'.repeat(16)}-00` });
  await gateway.stop();
  expect(collector.spans()).toEqual([]);
  expect(hosted.calls[0]?.headers['traceparent']).toMatch(/^00-e{32}-[0-9a-f]{16}-00$/);
});

test('a collector that hangs or refuses costs no answer, and delays no end', async () => {
  const silent = await startUpstream();
  const hosted = await startUpstream(answers('Hello'));
  const gateway = await startTraced(silent.url, { HOSTED_A_BASE_URL: `${hosted.url}/v1` });
  expect((await gateway.chat()).status).toBe(200);
  expect(await gateway.stop()).toMatchObject({ code: 0 });
});
