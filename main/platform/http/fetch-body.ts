import { withTimeout } from '../async.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import type { HttpClient, HttpRequest, ResponseHeaders } from './types.ts';

/** A request with a small response: a health check, a list of models, a message to the registry. */
export interface BodyRequest extends Omit<HttpRequest, 'method' | 'body'> {
  /** JSON to POST, or to DELETE by, with its `content-type` added; without it the request is a GET. */
  readonly json?: Buffer;
  readonly method?: 'DELETE';
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface FetchEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** `detail` is a short text for logs and reports; only `kind` may be compared. */
export type FetchResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: Buffer;
    }
  /** The body went over `maxBytes` and was thrown away. */
  | { readonly kind: 'too_large'; readonly status: number; readonly detail: string }
  /** `failed`: no connection, or no whole HTTP response. `exhausted`: no descriptor for a connection. */
  | { readonly kind: 'timed_out' | 'aborted' | 'failed' | 'exhausted'; readonly detail: string };

/** Sends a request and gathers its response. Never rejects. */
export async function fetchBody(
  request: BodyRequest,
  { http, clock, signal }: FetchEdges,
): Promise<FetchResult> {
  if (signal?.aborted === true) return ABORTED;
  const call = start(request, http);
  const end = await withTimeout(call.result, { clock, ms: request.timeoutMs, signal });
  if (end.kind === 'settled') return end.value;
  call.abort();
  return end.kind === 'timed_out' ? TIMED_OUT : ABORTED;
}

const TIMED_OUT: FetchResult = { kind: 'timed_out', detail: 'no answer in time' };
const ABORTED: FetchResult = { kind: 'aborted', detail: 'it was stopped' };

function start(request: BodyRequest, http: HttpClient) {
  const { origin, address, path, maxBytes, json = null, proxied = false } = request;
  const method = request.method ?? (json === null ? 'GET' : 'POST');
  const ownHeaders = json === null ? [] : ['content-type', 'application/json'];
  const headers = [...ownHeaders, ...request.headers];
  const { promise: result, resolve } = Promise.withResolvers<FetchResult>();
  const body = new ByteBuffer();
  let head: { status: number; headers: ResponseHeaders } = { status: 0, headers: {} };
  const exchange = http.send(
    { method, origin, address, path, headers, body: json, proxied },
    {
      onHead: (status, seen) => void (head = { status, headers: seen }),
      onData(chunk) {
        body.add(chunk);
        if (body.length <= maxBytes) return;
        exchange.abort();
        body.clear();
        const detail = `the answer is over ${maxBytes} bytes`;
        resolve({ kind: 'too_large', status: head.status, detail });
      },
      onEnd: () => resolve({ kind: 'response', ...head, body: body.take() }),
      onFailure: ({ kind, detail }) =>
        resolve({ kind: kind === 'exhausted' ? kind : 'failed', detail }),
    },
  );
  return { result, abort: () => exchange.abort() };
}
