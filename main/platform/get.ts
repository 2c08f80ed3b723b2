import { ByteBuffer } from './byte-buffer.ts';
import type { Clock } from './clock.ts';
import type { HttpClient, ResponseHeaders, ResponseListener } from './http.ts';

/** A small GET: a health check, a list of models. */
export interface GetRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export type GetResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: Buffer;
    }
  | { readonly kind: 'failed'; readonly detail: string };

/** Fetches a small document; time-outs, broken connections and oversize bodies are `failed`. */
export function get(request: GetRequest, http: HttpClient, clock: Clock): Promise<GetResult> {
  return new Promise((resolve) => {
    const body = new ByteBuffer();
    let status = 0;
    let headers: ResponseHeaders = {};
    const settle = (result: GetResult) => {
      cancelTimer();
      resolve(result);
    };
    const giveUp = (detail: string) => {
      exchange.abort();
      settle({ kind: 'failed', detail });
    };
    const cancelTimer = clock.after(request.timeoutMs, () => giveUp('no answer in time'));
    const { origin, path } = request;
    const listener: ResponseListener = {
      onHead(seenStatus, seenHeaders) {
        status = seenStatus;
        headers = seenHeaders;
      },
      onData(chunk) {
        body.add(chunk);
        if (body.length > request.maxBytes) giveUp(`over ${request.maxBytes} bytes`);
      },
      onEnd: () => settle({ kind: 'response', status, headers, body: body.take() }),
      onFailure({ stale, detail }) {
        // The other side had given the kept connection up, which says nothing about its health.
        if (stale && !isFresh) {
          isFresh = true;
          body.clear();
          exchange = send();
        } else settle({ kind: 'failed', detail });
      },
    };
    let isFresh = false;
    const send = () =>
      http.send(
        { method: 'GET', origin, path, headers: request.headers, body: null, fresh: isFresh },
        listener,
      );
    let exchange = send();
  });
}
