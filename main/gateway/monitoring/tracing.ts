import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { RequestObserver } from '../routing/observer.ts';

export interface TracedRequest {
  readonly id: string;
  /** Path of its endpoint at an upstream, such as `/chat/completions`. */
  readonly upstreamPath: string;
  readonly model: string | null;
  readonly stream: boolean;
  /** The caller's headers, which may name the trace that the request belongs to. */
  readonly headers: IncomingHttpHeaders;
}

/** Reports each request and its attempts to a collector, but never a prompt or an answer. */
export interface Tracing {
  /** Traces a request; its events are also passed on to `observer`. */
  readonly follow: (request: TracedRequest, observer: RequestObserver) => RequestObserver;
  /** Sends the remaining spans, for at most `CLOSE_TIMEOUT_MS`. */
  readonly close: () => Promise<void>;
}

export const NO_TRACING: Tracing = {
  follow: (_request, observer) => observer,
  close: () => Promise.resolve(),
};

export interface TracingDeps {
  readonly clock: Clock;
  readonly log: Log;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Tracing as set by OpenTelemetry's variables; without the address of a collector, the library is not loaded. */
export async function openTracing(given: Environment, deps: TracingDeps): Promise<Tracing> {
  const env = withoutBlank(given);
  if (!isRequested(env)) return NO_TRACING;
  const { createTracing } = await import('./open-telemetry.ts');
  return createTracing(env, deps);
}

/** An empty variable counts as unset: https://opentelemetry.io/docs/specs/otel/configuration/common/ */
function withoutBlank(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function isRequested(env: Environment): boolean {
  const address = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const isOff = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  return address !== undefined && !isOff && env['OTEL_TRACES_EXPORTER'] !== 'none';
}
