import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { RequestObserver } from '../routing/observer.ts';

/** A request as its span tells it. */
export interface TracedRequest {
  readonly id: string;
  /** Path of its endpoint at an upstream, such as `/chat/completions`. */
  readonly upstreamPath: string;
  readonly model: string | null;
  readonly stream: boolean;
  /** Of the caller; they may name the trace that the request belongs to. */
  readonly headers: IncomingHttpHeaders;
}

/** Tells a collector of each request and its attempts, never of a prompt or an answer. */
export interface Tracing {
  /** Follows a request; what it observes is passed on to `observer`. */
  readonly follow: (request: TracedRequest, observer: RequestObserver) => RequestObserver;
  /** Sends what is left, for at most `CLOSE_TIMEOUT_MS`. */
  readonly close: () => Promise<void>;
}

export const NO_TRACING: Tracing = {
  follow: (_request, observer) => observer,
  close: () => Promise.resolve(),
};

export interface TracingEdges {
  readonly clock: Clock;
  readonly log: Log;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Tracing by the standard variables of OpenTelemetry; without an address of a collector nothing of it is loaded. */
export async function openTracing(given: Environment, edges: TracingEdges): Promise<Tracing> {
  const env = withoutBlank(given);
  if (!isAskedFor(env)) return NO_TRACING;
  const { createTracing } = await import('./open-telemetry.ts');
  return createTracing(env, edges);
}

/** An empty variable counts as one that is not set: https://opentelemetry.io/docs/specs/otel/configuration/common/ */
function withoutBlank(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function isAskedFor(env: Environment): boolean {
  const address = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const isOff = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  return address !== undefined && !isOff && env['OTEL_TRACES_EXPORTER'] !== 'none';
}
