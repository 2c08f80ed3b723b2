import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, HttpClient, ResponseHeaders, ResponseListener } from './types.ts';

/** A small GET: a health check, a list of models. */
interface GetRequest {
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

/** A small POST of JSON. */
interface PostRequest {
  readonly origin: string;
  readonly path: string;
  /** Names and values in turn; `content-type` is added. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export type PostResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: Buffer;
    }
  | { readonly kind: 'failed'; readonly detail: string };

/** What posting takes. */
export interface PostEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** Sends a small document and waits for a small answer; whatever goes wrong is `failed`. */
export function post(
  request: PostRequest,
  { http, clock }: PostEdges,
  signal: AbortSignal,
): Promise<PostResult> {
  if (signal.aborted) return Promise.resolve({ kind: 'failed', detail: 'it was stopped' });
  return new Promise((resolve) => {
    const { origin, path, body, maxBytes } = request;
    const headers = ['content-type', 'application/json', ...request.headers];
    const settle = (result: PostResult) => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    };
    const giveUp = (detail: string) => {
      exchange.abort();
      settle({ kind: 'failed', detail });
    };
    const onAbort = () => giveUp('it was stopped');
    const cancelTimer = clock.after(request.timeoutMs, () => giveUp('no answer in time'));
    signal.addEventListener('abort', onAbort);
    let exchange = send(false);

    function send(fresh: boolean): Exchange {
      const answer = new ByteBuffer();
      let head = { status: 0, headers: {} as ResponseHeaders };
      return http.send(
        { method: 'POST', origin, path, headers, body, fresh },
        {
          onHead: (status, seen) => void (head = { status, headers: seen }),
          onData(chunk) {
            answer.add(chunk);
            if (answer.length > maxBytes) giveUp(`the answer is over ${maxBytes} bytes`);
          },
          onEnd: () => settle({ kind: 'response', ...head, body: answer.take() }),
          onFailure(failure) {
            // The other side had closed the kept connection as we wrote on it: it never saw the request.
            if (failure.stale && !fresh) exchange = send(true);
            else settle({ kind: 'failed', detail: failure.detail });
          },
        },
      );
    }
  });
}
