import type { ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import type {
  Exchange,
  HttpClient,
  HttpRequest,
  ResponseHeaders,
  ResponseListener,
  TransportFailure,
} from '../../platform/http/types.ts';
import { type AgentError, sendError } from './errors.ts';
import { callerHeaders } from './headers.ts';
import { createNoMeter, type Meter } from './token-meter.ts';

/** How a call of the engine ended. */
export type ForwardEnd =
  | { readonly kind: 'served'; readonly status: number; readonly meter: Meter }
  /** The engine gave no whole answer; the caller was told, or cut off where an answer had begun. */
  | { readonly kind: 'broken' }
  /** The caller went away, or was sent away. */
  | { readonly kind: 'cancelled' };

/** One call of the engine. */
export interface ForwardPlan {
  readonly request: Omit<HttpRequest, 'fresh'>;
  /** Longest time in which nothing moves: neither the engine nor a slow caller is waited for longer. */
  readonly silenceMs: number;
  /** Chooses how to count an answer once its head is there. */
  readonly meterFor: (status: number, headers: ResponseHeaders) => Meter;
  /** Ends the call when the owner wants the machine back; its reason is what the caller is told. */
  readonly signal: AbortSignal;
  /** What the caller gets when `signal` ends a call whose answer has not begun. */
  readonly whenEnded: () => AgentError;
}

/** What forwarding takes. */
export interface ForwardEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

/**
 * Sends a request to the engine and its answer back as it comes, with backpressure, and ends the call of
 * the engine as soon as the caller goes away.
 */
export function forward(
  plan: ForwardPlan,
  res: ServerResponse,
  edges: ForwardEdges,
): Promise<ForwardEnd> {
  return new Promise((resolve) => {
    new Forward(plan, res, edges, resolve).send(false);
  });
}

class Forward implements ResponseListener {
  readonly #plan: ForwardPlan;
  readonly #res: ServerResponse;
  readonly #edges: ForwardEdges;
  readonly #resolve: (end: ForwardEnd) => void;
  #exchange: Exchange | null = null;
  #meter: Meter = createNoMeter();
  #status = 0;
  #isFresh = false;
  #isOver = false;
  #movedTicks: number;
  #cancelTimer: () => void;

  constructor(
    plan: ForwardPlan,
    res: ServerResponse,
    edges: ForwardEdges,
    resolve: (end: ForwardEnd) => void,
  ) {
    this.#plan = plan;
    this.#res = res;
    this.#edges = edges;
    this.#resolve = resolve;
    this.#movedTicks = edges.clock.ticks();
    this.#cancelTimer = edges.clock.after(plan.silenceMs, this.#onTime);
    res.on('close', this.#onCallerGone);
    res.on('drain', this.#onDrain);
    plan.signal.addEventListener('abort', this.#onEnded);
  }

  send(fresh: boolean): void {
    if (this.#plan.signal.aborted) this.#onEnded();
    else if (this.#res.destroyed) this.#onCallerGone();
    else {
      this.#isFresh = fresh;
      this.#exchange = this.#edges.http.send({ ...this.#plan.request, fresh }, this);
    }
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#moved();
    this.#status = status;
    if (status >= 300 && status < 400) {
      // A redirect would send the caller, with its key, wherever the engine likes.
      this.#break({
        status: 502,
        code: 'engine_bad_response',
        message: `The engine answered with a redirect (HTTP ${status}); check its address.`,
      });
      return;
    }
    this.#meter = this.#plan.meterFor(status, headers);
    this.#res.writeHead(status, callerHeaders(headers));
    // Whoever waits for the first token wants to know that it was taken.
    this.#res.flushHeaders();
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#moved();
    this.#meter.see(chunk, this.#movedTicks);
    if (this.#res.write(chunk)) return;
    this.#exchange?.pause();
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#res.end();
    this.#finish({ kind: 'served', status: this.#status, meter: this.#meter });
  }

  onFailure(failure: TransportFailure): void {
    if (this.#isOver) return;
    // The engine had closed the kept connection as we wrote on it: it never saw the request.
    if (failure.stale && !this.#isFresh) {
      this.send(true);
      return;
    }
    const isMalformed = failure.kind === 'malformed';
    this.#break({
      status: 502,
      code: isMalformed ? 'engine_bad_response' : 'engine_unreachable',
      message: `The engine of this machine gave no answer: ${failure.detail}.`,
    });
  }

  #moved(): void {
    this.#movedTicks = this.#edges.clock.ticks();
  }

  readonly #onDrain = (): void => {
    this.#moved();
    this.#meter.slowed();
    this.#exchange?.resume();
  };

  readonly #onTime = (): void => {
    const leftMs = this.#movedTicks + this.#plan.silenceMs - this.#edges.clock.ticks();
    if (leftMs > 0) {
      this.#cancelTimer = this.#edges.clock.after(leftMs, this.#onTime);
      return;
    }
    const seconds = this.#plan.silenceMs / 1000;
    const message = `The engine of this machine was silent for ${seconds} s.`;
    this.#break({ status: 504, code: 'engine_timeout', message });
  };

  readonly #onCallerGone = (): void => {
    this.#exchange?.abort();
    this.#finish({ kind: 'cancelled' });
  };

  readonly #onEnded = (): void => {
    this.#exchange?.abort();
    this.#tell(this.#plan.whenEnded());
    this.#finish({ kind: 'cancelled' });
  };

  #break(error: AgentError): void {
    this.#exchange?.abort();
    this.#tell(error);
    this.#finish({ kind: 'broken' });
  }

  /** An answer that has begun is cut off, so that it cannot look whole. */
  #tell(error: AgentError): void {
    if (this.#res.headersSent) this.#res.destroy();
    else sendError(this.#res, error);
  }

  #finish(end: ForwardEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#res.off('close', this.#onCallerGone);
    this.#res.off('drain', this.#onDrain);
    this.#plan.signal.removeEventListener('abort', this.#onEnded);
    this.#resolve(end);
  }
}
