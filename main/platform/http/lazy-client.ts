import { transportFailure } from './failures.ts';
import type { Exchange, HttpClient, HttpRequest, ResponseListener } from './types.ts';

/** A client that is loaded on its first request, to save its memory where it is not used. */
export function createLazyClient(load: () => Promise<HttpClient>): HttpClient {
  let loading: Promise<HttpClient> | null = null;
  let loaded: HttpClient | null = null;

  async function begin(request: HttpRequest, exchange: WaitingExchange): Promise<void> {
    loading ??= load();
    try {
      const client = await loading;
      loaded = client;
      exchange.begin((listener) => client.send(request, listener));
    } catch (error) {
      // The next request loads it again: there may have been no descriptor left for its files.
      loading = null;
      exchange.fail(error instanceof Error ? error : new Error('unknown'));
    }
  }

  return {
    send(request, listener) {
      if (loaded !== null) return loaded.send(request, listener);
      const exchange = new WaitingExchange(listener);
      void begin(request, exchange);
      return exchange;
    },
    dropIdle: () => loaded?.dropIdle(),
    close: async () => {
      const client = await loading?.catch(() => null);
      await client?.close();
    },
  };
}

/** An exchange of a client that is still being loaded; once it has begun, all calls are passed on. */
class WaitingExchange implements Exchange {
  listener: ResponseListener;
  #exchange: Exchange | null = null;
  #isPaused = false;
  #isAborted = false;

  constructor(listener: ResponseListener) {
    this.listener = listener;
  }

  begin(send: (listener: ResponseListener) => Exchange): void {
    if (this.#isAborted) return;
    // `listener` may be replaced at any time, so it is looked up for each event.
    this.#exchange = send({
      onHead: (status, headers) => this.listener.onHead(status, headers),
      onData: (chunk) => this.listener.onData(chunk),
      onEnd: () => this.listener.onEnd(),
      onFailure: (failure) => this.listener.onFailure(failure),
    });
    if (this.#isPaused) this.#exchange.pause();
  }

  /** The client cannot be loaded. */
  fail(error: Error): void {
    if (this.#isAborted) return;
    const { kind } = transportFailure(error, { headSeen: false, reused: false });
    this.listener.onFailure({ kind, detail: error.message, stale: false });
  }

  pause(): void {
    this.#isPaused = true;
    this.#exchange?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#exchange?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#exchange?.abort();
  }

  hasLeft(): boolean {
    return this.#exchange?.hasLeft() ?? false;
  }
}
