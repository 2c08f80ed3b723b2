import type { ServerResponse } from 'node:http';
import type { CancelSignal, Clock } from '../../platform/clock.ts';
import type { ResponseListener, TransportFailure } from '../../platform/http/types.ts';
import type { BytesSeen } from '../upstream/exchange.ts';
import type { RelayEnd } from './relay.ts';

interface BytesPlan {
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  readonly signal: CancelSignal;
}

/**
 * Relays an answer that is not JSON to its end, with backpressure both ways. The head must be set. An answer that
 * breaks off ends with the connection: an error cannot be put among bytes, and a clean end would look complete.
 */
export function relayBytes(
  seen: BytesSeen,
  res: ServerResponse,
  plan: BytesPlan,
): Promise<RelayEnd> {
  return new Promise((resolve) => new BytesRelay(seen, res, plan, resolve).begin());
}

class BytesRelay implements ResponseListener {
  readonly #seen: BytesSeen;
  readonly #res: ServerResponse;
  readonly #plan: BytesPlan;
  readonly #resolve: (end: RelayEnd) => void;
  #cancelTimer: () => void = () => {};
  #lastDataAt: number;
  #isCallerSlow = false;
  #isOver = false;

  constructor(
    seen: BytesSeen,
    res: ServerResponse,
    plan: BytesPlan,
    resolve: (end: RelayEnd) => void,
  ) {
    this.#seen = seen;
    this.#res = res;
    this.#plan = plan;
    this.#resolve = resolve;
    this.#lastDataAt = plan.clock.ticks();
  }

  begin(): void {
    const { signal, clock, idleTimeoutMs } = this.#plan;
    if (signal.aborted) {
      this.#onCancel();
      return;
    }
    signal.addEventListener('abort', this.#onCancel);
    this.#res.on('drain', this.#onDrain);
    this.#cancelTimer = clock.after(idleTimeoutMs, this.#onTime);
    this.onData(this.#seen.first);
    this.#seen.handOver(this);
  }

  onHead(): void {
    // There is one head, and it came before the first bytes.
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#lastDataAt = this.#plan.clock.ticks();
    if (this.#res.write(chunk)) return;
    this.#isCallerSlow = true;
    this.#seen.exchange.pause();
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#finish({ kind: 'complete' });
    this.#res.end();
  }

  onFailure({ detail }: TransportFailure): void {
    this.#break('upstream_bad_response', detail);
  }

  readonly #onDrain = (): void => {
    if (!this.#isCallerSlow) return;
    this.#isCallerSlow = false;
    this.#lastDataAt = this.#plan.clock.ticks();
    this.#seen.exchange.resume();
  };

  /** Time during which the caller is the slow side does not count. */
  readonly #onTime = (): void => {
    const { clock, idleTimeoutMs } = this.#plan;
    const silentMs = this.#isCallerSlow ? 0 : clock.ticks() - this.#lastDataAt;
    if (silentMs < idleTimeoutMs) {
      this.#cancelTimer = clock.after(idleTimeoutMs - silentMs, this.#onTime);
      return;
    }
    this.#seen.exchange.abort();
    this.#break('upstream_timeout', `silent for ${idleTimeoutMs} ms`);
  };

  readonly #onCancel = (): void => {
    this.#seen.exchange.abort();
    this.#finish({ kind: 'cancelled' });
  };

  #break(code: 'upstream_bad_response' | 'upstream_timeout', detail: string): void {
    if (this.#isOver) return;
    this.#finish({ kind: 'broken', code, detail, error: null });
    this.#res.destroy();
  }

  #finish(end: RelayEnd): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#plan.signal.removeEventListener('abort', this.#onCancel);
    this.#res.off('drain', this.#onDrain);
    this.#resolve(end);
  }
}
