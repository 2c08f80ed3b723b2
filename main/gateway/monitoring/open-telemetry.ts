import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  diag,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  ROOT_CONTEXT,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { OUTRUN } from '#shared/reasons.ts';
import { withTimeout } from '../../platform/async.ts';
import type { Log } from '../../platform/log.ts';
import type {
  AttemptEnd,
  AttemptObserver,
  AttemptStart,
  RequestObserver,
} from '../routing/observer.ts';
import type { TracedRequest, Tracing, TracingDeps } from './tracing.ts';

/** How long a stop of the gateway waits at most for a collector that does not answer. */
const CLOSE_TIMEOUT_MS = 2000;

/** Callers choose model names, which may be long. */
const MAX_VALUE_LENGTH = 200;

/** The exporter itself reads its address, headers, timeouts and certificates from the environment. */
export function createTracing(
  env: Readonly<Record<string, string | undefined>>,
  { clock, log }: TracingDeps,
): Tracing {
  diag.setLogger(diagnosticsTo(log));
  const ids = new PlannedIds();
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'inglenook' }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(env, log),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
    // Buffers 2,048 spans at most; further ones are dropped while the collector does not keep up.
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer('inglenook');
  const propagator = new W3CTraceContextPropagator();
  return {
    follow(request, observer) {
      const parent = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
      return new RequestSpan(request, parent, observer, { tracer, ids });
    },
    async close() {
      const flushed = provider.shutdown().catch(() => {});
      await withTimeout(flushed, { clock, ms: CLOSE_TIMEOUT_MS });
    },
  };
}

/** Gives a span an ID that was already sent to the upstream in `traceparent`. */
class PlannedIds extends RandomIdGenerator {
  #next: string | null = null;

  plan(): string {
    this.#next ??= super.generateSpanId();
    return this.#next;
  }

  override generateSpanId(): string {
    const id = this.plan();
    this.#next = null;
    return id;
  }
}

interface Spans {
  readonly tracer: Tracer;
  readonly ids: PlannedIds;
}

class RequestSpan implements RequestObserver {
  readonly #observer: RequestObserver;
  readonly #spans: Spans;
  readonly #span: Span;
  readonly #context: Context;
  readonly #operation: string;

  constructor(request: TracedRequest, parent: Context, observer: RequestObserver, spans: Spans) {
    this.#observer = observer;
    this.#spans = spans;
    this.#operation = operationOf(request.upstreamPath);
    const attributes = {
      'gen_ai.operation.name': this.#operation,
      ...modelAttribute(request.model),
      'inglenook.request.id': request.id,
      'inglenook.request.stream': request.stream,
    };
    const name = spanName(this.#operation, request.model);
    const kind = SpanKind.SERVER;
    this.#span = spans.tracer.startSpan(name, { kind, attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  readonly traceparent = () =>
    headerOf({ ...this.#span.spanContext(), spanId: this.#spans.ids.plan() });

  attemptStarted(start: AttemptStart): AttemptObserver {
    const { upstream, provider, model } = start.target;
    const attributes = {
      'gen_ai.operation.name': this.#operation,
      'gen_ai.provider.name': upstream,
      ...modelAttribute(model),
      'inglenook.attempt.cause': start.cause,
      ...(provider === null ? {} : { 'inglenook.machine.id': provider }),
    };
    const name = spanName(this.#operation, model);
    const kind = SpanKind.CLIENT;
    const span = this.#spans.tracer.startSpan(name, { kind, attributes }, this.#context);
    return new AttemptSpan(span, this.#observer.attemptStarted(start));
  }

  answering(head: Parameters<RequestObserver['answering']>[0]): void {
    this.#span.setAttributes({
      'http.response.status_code': head.status,
      'inglenook.fallback_reason': head.fallbackReason,
      ...(head.upstream === null ? {} : { 'gen_ai.provider.name': head.upstream }),
    });
    this.#observer.answering(head);
  }

  ended(state: Parameters<RequestObserver['ended']>[0]): void {
    this.#span.setAttribute('inglenook.request.state', state);
    if (state === 'failed' || state === 'broken') fail(this.#span, state);
    this.#span.end();
    this.#observer.ended(state);
  }
}

class AttemptSpan implements AttemptObserver {
  readonly #span: Span;
  readonly #observer: AttemptObserver;

  constructor(span: Span, observer: AttemptObserver) {
    this.#span = span;
    this.#observer = observer;
  }

  readonly traceparent = () => headerOf(this.#span.spanContext());

  polled(): void {
    this.#span.addEvent('inglenook.poll');
    this.#observer.polled();
  }

  answering(contentAt: number | null): void {
    this.#span.addEvent('inglenook.first_content');
    this.#observer.answering(contentAt);
  }

  relayed(events: number, cameAt: number): void {
    this.#observer.relayed(events, cameAt);
  }

  /** The error's text is not sent, because an upstream may quote the prompt in it. */
  ended(end: AttemptEnd): void {
    if (end.tokens !== null) {
      const { input, output, estimated } = end.tokens;
      this.#span.setAttributes({
        'gen_ai.usage.input_tokens': input,
        'gen_ai.usage.output_tokens': output,
        'inglenook.usage.estimated': estimated,
      });
    }
    if (end.reason === OUTRUN) this.#span.setAttribute('inglenook.attempt.outrun', true);
    else if (end.reason !== null) fail(this.#span, end.reason);
    this.#span.end();
    this.#observer.ended(end);
  }
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
function headerOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ names these; others are named after their path. */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['/chat/completions', 'chat'],
  ['/responses', 'chat'],
  ['/messages', 'chat'],
  ['/completions', 'text_completion'],
  ['/embeddings', 'embeddings'],
]);

function operationOf(upstreamPath: string): string {
  return OPERATIONS.get(upstreamPath) ?? upstreamPath.slice(1).replaceAll('/', '_');
}

function spanName(operation: string, model: string | null): string {
  return model === null || model === '' ? operation : `${operation} ${short(model)}`;
}

function modelAttribute(model: string | null): Attributes {
  return model === null || model === '' ? {} : { 'gen_ai.request.model': short(model) };
}

function short(model: string): string {
  return model.slice(0, MAX_VALUE_LENGTH);
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration */
function samplerOf(env: Readonly<Record<string, string | undefined>>, log: Log): Sampler {
  const name = env['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on';
  const share = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(share),
  };
  const root = roots[name.replace(/^parentbased_/, '')];
  if (root === undefined || !(share >= 0 && share <= 1)) {
    const why = 'OTEL_TRACES_SAMPLER or OTEL_TRACES_SAMPLER_ARG is invalid: every trace is sampled';
    log('warn', 'tracing', { why });
    return new ParentBasedSampler({ root: new AlwaysOnSampler() });
  }
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: root() }) : root();
}

/** Logs what the exporter reports about a collector that does not answer or refuses. */
function diagnosticsTo(log: Log): Parameters<typeof diag.setLogger>[0] {
  const warn = (why: string) => log('warn', 'tracing', { why });
  const ignore = () => {};
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}
