import type { Clock } from '../../platform/clock.ts';
import { get, type GetResult } from '../../platform/get.ts';
import type { HttpClient, ResponseHeaders } from '../../platform/http.ts';
import { post } from '../link/post.ts';

/** What asking takes. */
export interface ProbeEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** A request to an agent or an engine. */
export interface Probe {
  readonly origin: string;
  readonly path: string;
  readonly gatewayToken?: string | null;
  readonly authorization?: string | null;
  /** Null for a GET. */
  readonly json: unknown;
}

/** What came back. */
export type Answer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly text: string;
      readonly latencyMs: number;
    }
  /** `text` says why. */
  | { readonly kind: 'none'; readonly text: string; readonly latencyMs: number };

/** What a registry reads of an answer at most (design 9). */
const MAX_BYTES = 64 * 1024;

/** Asks, and says how long it took. */
export async function ask(probe: Probe, timeoutMs: number, edges: ProbeEdges): Promise<Answer> {
  const startedTicks = edges.clock.ticks();
  const result = await send(probe, timeoutMs, edges);
  const latencyMs = Math.round(edges.clock.ticks() - startedTicks);
  if (result.kind === 'failed') return { kind: 'none', text: result.detail, latencyMs };
  const { status, headers, body } = result;
  return { kind: 'answer', status, headers, text: body.toString('utf8'), latencyMs };
}

function send(probe: Probe, timeoutMs: number, edges: ProbeEdges): Promise<GetResult> {
  const { origin, path, json, gatewayToken, authorization } = probe;
  const headers = ['accept', 'application/json'];
  if (gatewayToken) headers.push('x-gateway-token', gatewayToken);
  if (authorization) headers.push('authorization', authorization);
  const request = { origin, path, headers, timeoutMs, maxBytes: MAX_BYTES };
  if (json === null) return get(request, edges.http, edges.clock);
  const body = Buffer.from(JSON.stringify(json));
  return post({ ...request, body }, edges, new AbortController().signal);
}
