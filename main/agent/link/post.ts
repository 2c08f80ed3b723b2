import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Exchange, HttpClient, ResponseHeaders } from '../../platform/http.ts';

/** A small POST of JSON. */
export interface PostRequest {
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
