import type { ServerResponse } from 'node:http';
import type { CancelSignal, Clock } from '../../platform/clock.ts';
import { writeChunk } from '../../platform/http/chunks.ts';
import { drain } from '../../platform/http/outgoing-call.ts';
import type { Exchange, ResponseListener, TransportFailure } from '../../platform/http/types.ts';
import type { UpstreamErrorCode } from '#shared/errors.ts';
import { type UpstreamError, errorWithout, type OwnSecrets } from '../protocols/upstream-error.ts';
import type { Attempt } from '../routing/call-upstream.ts';
import type { AttemptObserver } from '../routing/observer.ts';
import type { Failure } from '../upstream/failure.ts';
import type { BytesAnswer, StreamAnswer } from '../upstream/exchange.ts';
import type { StreamTranslator } from '../protocols/translation/translation.ts';
import { type CommittedStart, lastEvent, UNFINISHED } from '../upstream/body-readers.ts';
import { parseJson } from '../../platform/json.ts';
import {
  dataOf,
  DONE_EVENT,
  type Framer,
  type Frames,
  framesOf,
  hasData,
  MAX_END_MS,
  MAX_EVENT_BYTES,
  withoutIds,
} from '../protocols/sse.ts';
import type { StreamFormat } from '../protocols/endpoint.ts';
import { GOING, type Sight, type StreamWatch } from '../protocols/stream-inspector.ts';
import type { UsageMeter } from '../protocols/tokens.ts';
import type { Splice } from './resume/splice.ts';

/** How a relayed stream ended. */
export type RelayEnd =
  | { readonly kind: 'complete' }
  | BadEnd
  /** The caller went away. */
  | { readonly kind: 'cancelled' };

/** The response is still open, as the answer may be resumed. */
export interface BadEnd {
  /** The upstream did not finish it, or the second stream is not the answer that it should resume. */
  readonly kind: 'broken' | 'diverged';
  readonly code: UpstreamErrorCode;
  readonly detail: string;
  /** The error event with which it ended; null without one. */
  readonly error: UpstreamError | null;
}

interface FlowPlan {
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** Aborted when the caller leaves. */
  readonly signal: CancelSignal;
}

interface RelayPlan extends FlowPlan {
  readonly format: StreamFormat;
  readonly choices: number;
  /** Of an error that the upstream reports, what its caller must not see. */
  readonly secrets: OwnSecrets;
  /** Reads the usage that the upstream reports. */
  readonly meter: UsageMeter;
  readonly observer: Pick<AttemptObserver, 'relayed'>;
  /** Called with the last event of a stream in which it has the whole answer. */
  readonly onLast: (event: Buffer) => void;
  /** Collects the bytes sent; null if the answer could not be resumed. */
  readonly sent: SentBytes | null;
  /** Turns events into the caller's; null if they are in its protocol. */
  readonly translator: StreamTranslator | null;
  /** Makes tool calls of those that the answer has as text. */
  readonly rescue: (frames: Frames) => Frames;
  /** Turns the events into the rest of the answer that it resumes; null for a first stream. */
  readonly splice: Splice | null;
}

/** Between two reports of the events that were sent. */
const REPORT_MS = 250;

/** What is made of an answer on its way. */
interface FlowReader {
  take(chunk: Buffer): void;
  /** The upstream has ended it. */
  ended(): void;
  /** It broke off, or was silent for the idle limit, and its call is aborted. */
  broke(detail: string, code: UpstreamErrorCode): void;
}

/** An answer on its way: held up while the caller is slow, and ended if the upstream is silent or the caller is gone. */
class Flow implements ResponseListener {
  readonly #exchange: Exchange;
  readonly #res: ServerResponse;
  /** Kept here because the response drops its reference when it ends. */
  readonly #socket: ServerResponse['socket'];
  readonly #plan: FlowPlan;
  readonly #reader: FlowReader;
  readonly #resolve: (end: RelayEnd) => void;
  #limitMs: number;
  /** The caller is to take what was written first; its connection is closed if it takes nothing for long. */
  #isHeldUp = false;
  #cancelTimer = () => {};
  isOver = false;
  /** In clock ticks. */
  lastDataAt: number;

  constructor(
    { exchange, res, since }: { exchange: Exchange; res: ServerResponse; since: number },
    plan: FlowPlan,
    reader: FlowReader,
    resolve: (end: RelayEnd) => void,
  ) {
    this.#exchange = exchange;
    this.#res = res;
    this.#socket = res.socket;
    this.#plan = plan;
    this.#reader = reader;
    this.#resolve = resolve;
    this.#limitMs = plan.idleTimeoutMs;
    this.lastDataAt = since;
  }

  /** Goes on behind what `first` takes, because the caller is waiting for that. */
  begin(handOver: StreamAnswer['handOver'], first: () => void): void {
    const { signal } = this.#plan;
    if (signal.aborted) return this.#cancel();
    signal.addEventListener('abort', this.#cancel);
    first();
    // The exchange may have ended within the same read; its current listener handles that end.
    if (this.isOver) return handOver(this.#exchange.listener);
    // What came first may have been the finish already.
    this.#wait(this.#limitMs);
    this.#res.on('drain', this.#onDrain);
    this.#socket?.on('drain', this.#onDrain);
    handOver(this);
  }

  came(): void {
    this.lastDataAt = this.#plan.clock.ticks();
  }

  pause(): void {
    this.#isHeldUp = true;
    this.#exchange.pause();
  }

  /** The answer is whole; only its end may follow. */
  awaitEnd(): void {
    if (this.isOver || this.#limitMs <= MAX_END_MS) return;
    this.#limitMs = MAX_END_MS;
    this.#wait(MAX_END_MS);
  }

  finish(end: RelayEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#cancelTimer();
    this.#plan.signal.removeEventListener('abort', this.#cancel);
    this.#res.off('drain', this.#onDrain);
    this.#socket?.off('drain', this.#onDrain);
    if (end.kind === 'complete') this.#res.end();
    this.#resolve(end);
  }

  onHead(): void {
    // There is one head, and it came before the first content.
  }

  onData(chunk: Buffer): void {
    if (!this.isOver) this.#reader.take(chunk);
  }

  onEnd(): void {
    if (!this.isOver) this.#reader.ended();
  }

  onFailure({ kind, detail }: TransportFailure): void {
    const code = kind === 'ended' ? 'upstream_unavailable' : 'upstream_bad_response';
    if (!this.isOver) this.#reader.broke(detail, code);
  }

  readonly #cancel = (): void => {
    this.#exchange.abort();
    this.finish({ kind: 'cancelled' });
  };

  readonly #onDrain = (): void => {
    if (!this.#isHeldUp) return;
    this.#isHeldUp = false;
    this.came();
    this.#exchange.resume();
  };

  #wait(ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#plan.clock.after(ms, this.#onTime);
  }

  /** Time during which the caller is the slow side is not the upstream's silence. */
  readonly #onTime = (): void => {
    const silentMs = this.#isHeldUp ? 0 : this.#plan.clock.ticks() - this.lastDataAt;
    if (silentMs < this.#limitMs) return this.#wait(this.#limitMs - silentMs);
    this.#exchange.abort();
    this.#reader.broke(`silent for ${this.#limitMs} ms`, 'upstream_timeout');
  };
}

/**
 * Relays a committed stream to its end, whole events at a time, with backpressure both ways. The head of a
 * first stream must be set, and is sent with its first events. A complete stream ends the response; one that
 * breaks off leaves it open for the caller to resume or to end.
 */
export function relay(seen: StreamAnswer, res: ServerResponse, plan: RelayPlan): Promise<RelayEnd> {
  return new Promise((resolve) => {
    new Relay(seen, res, plan, resolve).begin(seen);
  });
}

class Relay implements FlowReader {
  readonly #exchange: Exchange;
  readonly #framer: Framer;
  readonly #res: ServerResponse;
  readonly #plan: RelayPlan;
  readonly #watch: StreamWatch;
  readonly #flow: Flow;
  /** Whether its events have ids, as the first ones show. */
  readonly #hasIds: boolean;
  /** Events that the observer knows of, and when the last of them came, in clock ticks. */
  #reported = 0;
  #reportedAt = -Infinity;

  constructor(
    { exchange, start, contentAt }: StreamAnswer,
    res: ServerResponse,
    plan: RelayPlan,
    resolve: (end: RelayEnd) => void,
  ) {
    this.#exchange = exchange;
    this.#framer = start.framer;
    this.#hasIds = withoutIds(start.held) !== start.held;
    this.#res = res;
    this.#plan = plan;
    this.#watch = plan.format.createWatch(plan.choices);
    this.#flow = new Flow({ exchange, res, since: contentAt }, plan, this, (end) => {
      this.#report();
      resolve(end);
    });
  }

  begin({ start, handOver }: StreamAnswer): void {
    this.#flow.begin(handOver, () => this.#open(start));
  }

  /** Sends head and first events at once in one packet: a head alone would wait for the end of the turn. */
  #open(first: CommittedStart): void {
    const { socket } = this.#res;
    socket?.cork();
    const { splice, meter } = this.#plan;
    if (splice === null) this.#res.flushHeaders();
    // Some protocols report the prompt's tokens with their first events.
    this.#take(splice === null ? meter.take(first.held) : first.held);
    socket?.uncork();
  }

  take(chunk: Buffer): void {
    const frames = this.#framer.push(chunk);
    if (frames === null || hasData(frames)) this.#flow.came();
    if (frames !== null) this.#take(frames);
    if (this.#framer.pendingBytes > MAX_EVENT_BYTES) this.#reject('an event is too large');
  }

  ended(): void {
    const rest = lastEvent(this.#framer).filter(isReadable);
    if (rest.length > 0) this.#take(framesOf(rest));
    if (!this.#flow.isOver) this.broke(UNFINISHED, 'upstream_bad_response');
  }

  /** A stream with all its finish reasons is complete; only `[DONE]` is missing. */
  broke(detail: string, code: UpstreamErrorCode): void {
    if (this.#watch.isFinished) this.#complete(DONE_EVENT);
    else this.#flow.finish({ kind: 'broken', code, detail, error: null });
  }

  #take(all: Frames): void {
    const { splice } = this.#plan;
    const own = this.#hasIds ? withoutIds(all) : all;
    const watched = this.#watch.take(own);
    const frames = watched?.frames ?? own;
    const sight = watched?.sight ?? GOING;
    if (splice === null) return this.#forward(frames, sight);
    const spliced = splice.push(this.#plan.meter.take(frames));
    if (spliced.kind === 'diverged') {
      this.#exchange.abort();
      this.#flow.finish(badEnd('diverged', spliced.detail));
    } else this.#forward(spliced.frames, sight);
  }

  #forward(frames: Frames, sight: Sight): void {
    // In one packet with the end, which comes in this turn.
    if (sight.kind === 'done') corkForThisTurn(this.#res.socket);
    const isTaken = frames.ends.length === 0 || this.#send(frames);
    if (!isTaken && sight.kind === 'going') this.#flow.pause();
    if (this.#plan.translator?.ended() === 'failed') return this.#reject(UNTRANSLATABLE);
    switch (sight.kind) {
      case 'going':
        if (this.#watch.isFinished) this.#flow.awaitEnd();
        break;
      case 'done':
        if (sight.last !== null) this.#plan.onLast(sight.last);
        drain(this.#exchange, this.#plan.clock);
        this.#exchange.resume();
        this.#complete(null);
        break;
      case 'unfinished':
        this.#reject(UNFINISHED);
        break;
      case 'error': {
        const [code, detail] = ['upstream_error', 'the upstream reported an error'] as const;
        this.#exchange.abort();
        const error = errorWithout(this.#plan.secrets, sight.error);
        this.#flow.finish({ kind: 'broken', code, detail, error });
      }
    }
  }

  /** False while the caller is slower than the upstream. */
  #send(frames: Frames): boolean {
    const { translator, sent, meter, rescue, splice } = this.#plan;
    // A spliced stream was searched before its events were changed.
    const own = splice === null && this.#watch.mayTellUsage ? meter.take(frames) : frames;
    const told = rescue(own);
    sent?.add(told.bytes);
    const bytes = translator === null ? told.bytes : translator.push(told);
    const isTaken = bytes.length === 0 || writeChunk(this.#res, bytes);
    meter.sent(own);
    // The first events at once, later ones together: a window shows no more, and to report each costs a twentieth of it.
    if (this.#flow.lastDataAt - this.#reportedAt >= REPORT_MS) this.#report();
    return isTaken;
  }

  #report(): void {
    const { meter, observer } = this.#plan;
    const events = meter.relayed - this.#reported;
    this.#reported = meter.relayed;
    this.#reportedAt = this.#flow.lastDataAt;
    if (events > 0) observer.relayed(events, this.#reportedAt);
  }

  /** `missing`: what the upstream left out of its last events. */
  #complete(missing: string | null): void {
    const { translator } = this.#plan;
    const last = translator === null ? missing : translator.end();
    if (last !== null) this.#res.write(last);
    if ((translator?.ended() ?? 'complete') === 'complete') this.#flow.finish({ kind: 'complete' });
    else this.#flow.finish(badEnd('broken', UNTRANSLATABLE));
  }

  #reject(detail: string): void {
    this.#exchange.abort();
    this.#flow.finish(badEnd('broken', detail));
  }
}

function corkForThisTurn(socket: ServerResponse['socket']): void {
  socket?.cork();
  queueMicrotask(() => socket?.uncork());
}

export const badEnd = (kind: BadEnd['kind'], detail: string): BadEnd => ({
  kind,
  code: 'upstream_bad_response',
  detail,
  error: null,
});

const UNTRANSLATABLE = 'it cannot be translated';

/** The last event without a blank line after it is relayed only if it is complete. */
function isReadable(event: Buffer): boolean {
  const data = dataOf(event)?.trim();
  return data === undefined || data === '[DONE]' || parseJson(data) !== undefined;
}

/**
 * Relays an answer that is not JSON to its end, with backpressure both ways. The head must be set. An answer that
 * breaks off ends with the connection: an error cannot be put among bytes, and a clean end would look complete.
 */
export function relayBytes(
  seen: BytesAnswer,
  res: ServerResponse,
  plan: FlowPlan,
): Promise<RelayEnd> {
  return new Promise((resolve) => {
    const reader: FlowReader = {
      take(chunk) {
        flow.came();
        if (!res.write(chunk)) flow.pause();
      },
      ended: () => flow.finish({ kind: 'complete' }),
      broke(detail, code) {
        flow.finish({ kind: 'broken', code, detail, error: null });
        res.destroy();
      },
    };
    const { exchange, handOver, first } = seen;
    const flow = new Flow({ exchange, res, since: plan.clock.ticks() }, plan, reader, resolve);
    flow.begin(handOver, () => reader.take(first));
  });
}

export function record(end: RelayEnd, attempt: Attempt, failure: Failure | null = null): void {
  switch (end.kind) {
    case 'complete':
      return attempt.end({ kind: 'served' });
    case 'broken':
      return attempt.end({ kind: 'broken', detail: end.detail, failure });
    // An answer that differs from another upstream's is not a failure.
    case 'diverged':
    case 'cancelled':
      return attempt.end({ kind: 'cancelled' });
  }
}

/** Longer streams cannot be resumed: the bytes are kept for every running stream. */
const MAX_SENT_BYTES = 1024 * 1024;

/** Each piece costs memory of its own, and an event with a token has at least 64 bytes. */
const MAX_SENT_PIECES = MAX_SENT_BYTES / 64;

/** The bytes sent of one stream: in memory only, until it is complete. */
export type SentBytes = ReturnType<typeof createSentBytes>;

/** Over `maxBytes` everything is dropped for good: a part is of no use. */
export function createSentBytes(maxBytes: number = MAX_SENT_BYTES) {
  let parts: Buffer[] | null = [];
  let length = 0;
  return {
    /** Keeps a reference; nothing is copied or parsed. */
    add(bytes: Buffer) {
      if (parts === null) return;
      length += bytes.length;
      if (length > maxBytes || parts.length === MAX_SENT_PIECES) parts = null;
      else parts.push(bytes);
    },
    /** Everything since the start; null over the limit. */
    taken: (): readonly Buffer[] | null => parts,
  };
}
