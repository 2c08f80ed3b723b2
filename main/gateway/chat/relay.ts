import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { drain } from '../../platform/http/handover.ts';
import type { Exchange, ResponseListener, TransportFailure } from '../../platform/http/types.ts';
import { errorBody, type UpstreamErrorCode } from '../http/errors.ts';
import { writeChunk } from '../http/responses.ts';
import type { StreamSeen } from '../upstream/attempt.ts';
import { lastEvent } from '../upstream/body-readers.ts';
import { parseJson } from '../upstream/completion.ts';
import { dataOf, type Framer, type Frames, framesOf, MAX_EVENT_BYTES } from '../upstream/sse.ts';
import { createStreamWatch, type StreamWatch } from '../upstream/stream-inspector.ts';
import type { SentBytes } from './resume/sent-bytes.ts';
import type { Splice } from './resume/splice.ts';

/** How a relayed stream ended. */
export type RelayEnd =
  | { readonly kind: 'complete' }
  /** The upstream did not finish it. The response is still open: the answer may be carried on. */
  | { readonly kind: 'broken'; readonly code: UpstreamErrorCode; readonly detail: string }
  /** It is another answer than the one that it was to carry on. */
  | { readonly kind: 'diverged'; readonly detail: string }
  /** The caller went away. */
  | { readonly kind: 'cancelled' };

/** How a stream is to be relayed. */
export interface RelayPlan {
  readonly idleTimeoutMs: number;
  readonly choices: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with the number of events that went out. */
  readonly onEvents: (count: number) => void;
  /** Keeps what went out, should the answer have to be carried on; null where nobody could. */
  readonly sent: SentBytes | null;
  /** Makes the events the rest of an answer that has begun; null for a first stream. */
  readonly splice: Splice | null;
}

export const DONE_EVENT = 'data: [DONE]\n\n';

/**
 * Relays a committed stream to its end, whole events at a time, with backpressure both ways.
 * The head of a first stream must be set, and goes out with its first events. A stream that is whole ends
 * the response; one that breaks leaves it open, for who carries it on or says that it broke off.
 */
export function relay(seen: StreamSeen, res: ServerResponse, plan: RelayPlan): Promise<RelayEnd> {
  return new Promise((resolve) => {
    new Relay(seen, res, plan, resolve).begin(seen);
  });
}

class Relay implements ResponseListener {
  readonly #exchange: Exchange;
  readonly #framer: Framer;
  readonly #res: ServerResponse;
  /** As it is now: the response lets go of it when it ends. */
  readonly #socket: Socket | null;
  readonly #plan: RelayPlan;
  readonly #resolve: (end: RelayEnd) => void;
  readonly #watch: StreamWatch;
  #cancelTimer: () => void = () => {};
  #lastDataAt: number;
  #callerIsSlow = false;
  #over = false;

  constructor(
    { exchange, start }: StreamSeen,
    res: ServerResponse,
    plan: RelayPlan,
    resolve: (end: RelayEnd) => void,
  ) {
    this.#exchange = exchange;
    this.#framer = start.framer;
    this.#res = res;
    this.#socket = res.socket;
    this.#plan = plan;
    this.#resolve = resolve;
    this.#watch = createStreamWatch(plan.choices);
    this.#lastDataAt = plan.clock.ticks();
  }

  begin({ start, handOver }: StreamSeen): void {
    const { signal, clock, idleTimeoutMs } = this.#plan;
    if (signal.aborted) {
      this.#onCancel();
      return;
    }
    // Before all else, for the caller waits for it.
    this.#open(start.held);
    if (this.#over) {
      // The response may have ended with the same read: its end is for whoever listens now.
      handOver(this.#exchange.listener);
      return;
    }
    this.#cancelTimer = clock.after(idleTimeoutMs, this.#onTime);
    signal.addEventListener('abort', this.#onCancel);
    this.#res.on('drain', this.#onDrain);
    this.#socket?.on('drain', this.#onDrain);
    handOver(this);
  }

  /** Head and first events leave together and at once: by itself a head waits for the end of the turn. */
  #open(first: Frames): void {
    this.#socket?.cork();
    if (this.#plan.splice === null) this.#res.flushHeaders();
    this.#take(first);
    this.#socket?.uncork();
  }

  onHead(): void {
    // A response has one head, and it was seen before the commit.
  }

  onData(chunk: Buffer): void {
    if (this.#over) return;
    this.#lastDataAt = this.#plan.clock.ticks();
    const frames = this.#framer.push(chunk);
    if (frames !== null) this.#take(frames);
    if (this.#framer.pendingBytes() > MAX_EVENT_BYTES) {
      this.#exchange.abort();
      this.#break('upstream_bad_response', 'an event is too large');
    }
  }

  onEnd(): void {
    if (this.#over) return;
    const rest = lastEvent(this.#framer).filter(isReadable);
    if (rest.length > 0) this.#take(framesOf(rest));
    if (!this.#over) this.#endWithoutDone('the stream ended without a finish reason');
  }

  onFailure(failure: TransportFailure): void {
    if (!this.#over) this.#endWithoutDone(failure.detail);
  }

  #take(all: Frames): void {
    const { splice } = this.#plan;
    const frames = this.#watch.readable(all);
    if (splice === null) {
      this.#forward(frames);
      return;
    }
    const spliced = splice.push(frames);
    if (spliced.kind === 'diverged') {
      this.#exchange.abort();
      this.#finish(spliced);
    } else if (spliced.frames !== null) this.#forward(spliced.frames);
  }

  #forward(frames: Frames): void {
    const sight = this.#watch.see(frames);
    const bytes = sight.kind === 'going' ? frames.bytes : frames.bytes.subarray(0, sight.end);
    this.#plan.sent?.add(bytes);
    if (bytes.length > 0 && !writeChunk(this.#res, bytes) && sight.kind === 'going') this.#pause();
    this.#plan.onEvents(frames.ends.length);
    if (sight.kind === 'done') {
      drain(this.#exchange, this.#plan.clock);
      this.#exchange.resume();
      this.#finish({ kind: 'complete' });
    } else if (sight.kind === 'error') {
      this.#exchange.abort();
      this.#break('upstream_error', 'the upstream reported an error');
    }
  }

  #pause(): void {
    this.#callerIsSlow = true;
    this.#exchange.pause();
  }

  readonly #onDrain = (): void => {
    if (!this.#callerIsSlow) return;
    this.#callerIsSlow = false;
    this.#lastDataAt = this.#plan.clock.ticks();
    this.#exchange.resume();
  };

  /** The clock rests while the caller is the slow one. */
  readonly #onTime = (): void => {
    const silentMs = this.#callerIsSlow ? 0 : this.#plan.clock.ticks() - this.#lastDataAt;
    const leftMs = this.#plan.idleTimeoutMs - silentMs;
    if (leftMs > 0) {
      this.#cancelTimer = this.#plan.clock.after(leftMs, this.#onTime);
      return;
    }
    this.#exchange.abort();
    if (this.#watch.finished()) this.#complete();
    else this.#break('upstream_timeout', `silent for ${this.#plan.idleTimeoutMs} ms`);
  };

  readonly #onCancel = (): void => {
    this.#exchange.abort();
    this.#finish({ kind: 'cancelled' });
  };

  /** A stream with its finish reasons is whole; only the closing event is missing. */
  #endWithoutDone(detail: string): void {
    if (this.#watch.finished()) this.#complete();
    else this.#break('upstream_bad_response', detail);
  }

  #complete(): void {
    this.#res.write(DONE_EVENT);
    this.#finish({ kind: 'complete' });
  }

  #break(code: UpstreamErrorCode, detail: string): void {
    this.#finish({ kind: 'broken', code, detail });
  }

  #finish(end: RelayEnd): void {
    this.#over = true;
    this.#cancelTimer();
    this.#plan.signal.removeEventListener('abort', this.#onCancel);
    this.#res.off('drain', this.#onDrain);
    this.#socket?.off('drain', this.#onDrain);
    if (end.kind === 'complete') this.#res.end();
    this.#resolve(end);
  }
}

/** Ends a stream visibly incomplete: one error event and no `[DONE]`. */
export function breakOff(res: ServerResponse, code: UpstreamErrorCode, detail: string): void {
  const message = `The answer broke off: ${detail}. What came before is incomplete.`;
  const body = errorBody({ status: 502, code, message });
  res.end(`data: ${JSON.stringify(body)}\n\n`);
}

/** An unfinished event at a clean end is only passed on if it is whole all the same. */
function isReadable(event: Buffer): boolean {
  const data = dataOf(event)?.trim() ?? '';
  return data === '[DONE]' || parseJson(data) !== undefined;
}
