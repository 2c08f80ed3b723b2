import type { Tokens } from '#shared/usage.ts';
import type { CancelSignal, Clock } from '../../platform/clock.ts';
import { decoded, isDecodable } from '../../platform/http/decoding.ts';
import { bufferEvents, drain } from '../../platform/http/outgoing-call.ts';
import { isPage } from '../../platform/http/passed-headers.ts';
import type {
  Exchange,
  HttpClient,
  HttpRequest,
  ResponseHeaders,
  ResponseListener,
  TransportFailure,
} from '../../platform/http/types.ts';
import {
  type AnswerMode,
  type BodyReader,
  type CommittedStart,
  createErrorReader,
  isAssembling,
  type Progress,
  readerFor,
} from './body-readers.ts';
import {
  type Adjustment,
  adjustmentsAfter,
  knownRefusals,
  learnRefusals,
  learnUsage,
  REFUSAL_STATUSES,
  WITHOUT_STREAM,
  WITHOUT_USAGE,
} from './adjustments.ts';
import type { Knowledge } from '../memory/memory.ts';
import type { UpstreamCall } from './call.ts';
import type { ErrorResponse, NoAnswer } from './failure.ts';
import { MAX_END_MS } from '../protocols/sse.ts';
import { streamOf } from '../protocols/endpoint.ts';
import { tokensIn, NOTHING_SPENT, tokensOf } from '../protocols/tokens.ts';
import {
  readErrorBody,
  bodyWithout,
  errorWithout,
  headersWithout,
} from '../protocols/upstream-error.ts';

export interface ExchangePlan {
  readonly call: UpstreamCall;
  /** What was known of this upstream or machine before the call. */
  readonly known: Knowledge;
  /** For the first content, in clock ticks. */
  readonly deadline: number;
  /** Silence allowed in an answer that is being assembled, after its first content. */
  readonly idleTimeoutMs: number;
  /** Called at the first content of an answer that is being assembled. */
  readonly onContent: () => void;
  /** Ends the call at once as `cancelled`. */
  readonly signal: CancelSignal;
}

/** An answer of which more is to come. */
interface OpenAnswer {
  readonly headers: ResponseHeaders;
  readonly exchange: Exchange;
  /** Passes buffered and further events to `listener`. Call it in the same turn: from then on nothing is held back. */
  readonly handOver: (listener: ResponseListener) => void;
}

/** A stream from its first content on. */
export interface StreamAnswer extends OpenAnswer {
  readonly kind: 'stream';
  /** Time of the first content, in clock ticks. */
  readonly contentAt: number;
  readonly start: CommittedStart;
}

/** An answer that is not JSON, from its first bytes on. */
export interface BytesAnswer extends OpenAnswer {
  readonly kind: 'bytes';
  /** The time of the first byte says nothing about a first token. */
  readonly contentAt: null;
  readonly first: Buffer;
}

export interface JsonAnswer {
  readonly kind: 'answer';
  readonly headers: ResponseHeaders;
  /** Time of the first content, in clock ticks; null if the answer was not streamed. */
  readonly contentAt: number | null;
  readonly body: Buffer;
  /** Tool calls that it had as text. */
  readonly repairedCalls: number;
}

export type UpstreamAnswer = StreamAnswer | BytesAnswer | JsonAnswer;

export type CallResult = UpstreamAnswer | NoAnswer | { readonly kind: 'cancelled' };

export interface ExchangeDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** A call from its sending to its first content, its whole answer, or its failure; all of them are values. */
export class PendingCall implements ResponseListener {
  readonly plan: ExchangePlan;
  /** What the upstream does not take as it is. */
  readonly changes: ReadonlySet<Adjustment>;
  readonly request: HttpRequest;
  /** When the request was sent, in clock ticks. */
  readonly sentAt: number;
  readonly seen: Promise<CallResult>;
  readonly #deps: ExchangeDeps;
  readonly #mode: AnswerMode;
  readonly #resolve: (seen: CallResult) => void;
  #exchange: Exchange | null = null;
  #cancelTimer: () => void;
  /** For the first content, in clock ticks. */
  #deadline: number;
  /** When the engine last said that it is at work, in clock ticks. */
  #atWorkAt: number;
  #head: Pick<ErrorResponse, 'status' | 'headers'> = { status: 0, headers: {} };
  #reader: BodyReader | null = null;
  #lastDataAt = 0;
  /** Allowed from the first content on of an answer that is being assembled. */
  #idleTimeoutMs: number;
  #contentAt: number | null = null;

  constructor(plan: ExchangePlan, changes: ReadonlySet<Adjustment>, deps: ExchangeDeps) {
    const { call, signal } = plan;
    this.plan = plan;
    this.changes = changes;
    this.#deps = deps;
    this.request = call.write(changes);
    this.#mode = changes.has(WITHOUT_STREAM) && call.mode === 'assemble' ? 'whole' : call.mode;
    this.#idleTimeoutMs = plan.idleTimeoutMs;
    const { promise, resolve } = Promise.withResolvers<CallResult>();
    this.seen = promise;
    this.#resolve = resolve;
    this.sentAt = deps.clock.ticks();
    this.#atWorkAt = this.sentAt;
    this.#deadline = plan.deadline;
    this.#cancelTimer = deps.clock.after(plan.deadline - this.sentAt, this.#onTime);
    signal.addEventListener('abort', this.#onCancel);
  }

  send(): void {
    if (this.plan.signal.aborted) this.#onCancel();
    else this.#exchange = this.#deps.http.send(this.request, this);
  }

  /** Ends a silent call as its deadline would. */
  giveUp(): void {
    if (this.#contentAt === null) this.#abort({ kind: 'timeout', wasSilent: true });
  }

  /** False while it is certain that the upstream knows nothing of the call. */
  hasLeft(): boolean {
    return this.#exchange?.hasLeft() ?? false;
  }

  /** Whether it was sent with a request for usage that its caller did not make. */
  hidesUsage(): boolean {
    return this.plan.call.asksForUsage && mayAskForUsage(this.changes);
  }

  /** What is known before the end of a stream, or guessed of a call that came to no end; null: nothing, or later. */
  used(seen: CallResult): Tokens | null {
    const { request } = this.plan.call;
    const isRefused = this.#head.status >= 300;
    const spent = (isRefused ? null : this.#reader?.spent()) ?? NOTHING_SPENT;
    switch (seen.kind) {
      case 'answer': {
        // The events of an assembled answer say more than the length of its JSON.
        const output = seen.contentAt === null ? tokensIn(seen.body) : spent.output;
        return tokensOf({ ...spent, output }, request, true);
      }
      // Its prompt is read and paid for, whether or not anything of the answer came.
      case 'bytes':
      case 'cancelled':
      case 'unfinished':
      case 'timeout':
        return this.hasLeft() ? tokensOf(spent, request) : null;
      case 'stream':
        return null;
      default:
        return spent.told !== null || spent.output > 0 ? tokensOf(spent, request) : null;
    }
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#head = { status, headers };
    const coding = codingOf(headers);
    const problem = problemOf(status, headers, coding);
    if (problem !== null) {
      this.#abort({ kind: 'bad', detail: problem });
      return;
    }
    const { endpoint, followsToolResult } = this.plan.call.request;
    const format = endpoint.answer;
    this.#reader =
      status >= 300
        ? createErrorReader()
        : readerFor({ format, mode: this.#mode, followsToolResult }, headers);
    if (coding !== 'identity' && isDecodable(coding) && this.#exchange !== null)
      this.#exchange = decoded(this.#exchange, coding);
  }

  onData(chunk: Buffer): void {
    if (this.#reader === null) return;
    const progress = this.#reader.push(chunk);
    const isSilent = progress.kind === 'more' && progress.brought === 'nothing';
    if (!isSilent) this.#lastDataAt = this.#deps.clock.ticks();
    if (this.#contentAt === null && isAssembling(progress)) this.#onFirstContent();
    if (progress.kind === 'more' && progress.brought === 'finish') this.#awaitEnd();
    if (progress.kind === 'more' && progress.brought === 'notice') this.#onNotice();
    this.#onProgress(progress);
    // An assembled stream is whole at [DONE]; its connection may end a little later.
    if (progress.kind === 'whole' && this.#exchange !== null)
      drain(this.#exchange, this.#deps.clock);
  }

  onEnd(): void {
    if (this.#reader === null) return;
    const progress = this.#reader.end();
    this.#onProgress(progress);
    // The end itself completed the first content: the listener that took over still needs the end.
    if (progress.kind === 'commit') this.#exchange?.listener.onEnd();
  }

  onFailure(failure: TransportFailure): void {
    const last = failure.kind === 'cut' ? this.#reader?.end() : undefined;
    // Still whole if it has its finish reason: only [DONE] and a clean end are missing.
    if (last?.kind === 'whole' && this.#head.status < 300) this.#onProgress(last);
    else this.#settle(failure);
  }

  #onProgress(progress: Progress): void {
    switch (progress.kind) {
      case 'more':
        break;
      case 'commit':
        this.#passOn({ kind: 'stream', contentAt: this.#lastDataAt, start: progress });
        break;
      case 'bytes':
        this.#passOn({ ...progress, contentAt: null });
        break;
      case 'whole':
        this.#settle(this.#whole(progress));
        break;
      case 'bad':
        this.#abort(progress);
        break;
      case 'error': {
        const error = errorWithout(this.plan.call.secrets, progress.error);
        this.#abort({ kind: 'error_answer', error, headers: this.#head.headers });
        break;
      }
    }
  }

  #whole({ body }: Extract<Progress, { readonly kind: 'whole' }>): CallResult {
    const [{ status, headers }, contentAt] = [this.#head, this.#contentAt];
    const { request, rescue, secrets } = this.plan.call;
    if (status >= 300) {
      const shown = bodyWithout(secrets, body);
      const kept = headersWithout(secrets, headers);
      return { kind: 'status', status, headers: kept, body: shown, error: readErrorBody(shown) };
    }
    const told = request.asAsked?.(body) ?? body;
    const { body: rescued, calls = 0 } = rescue?.whole(told) ?? { body: told };
    return { kind: 'answer', headers, contentAt, body: rescued, repairedCalls: calls };
  }

  #passOn(
    answer: Omit<StreamAnswer, keyof OpenAnswer> | Omit<BytesAnswer, keyof OpenAnswer>,
  ): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    const handOver = bufferEvents(exchange);
    this.#settle({ ...answer, headers: this.#head.headers, exchange, handOver });
    // It may never be handed over, if another answer comes in the same turn, or a fault.
    this.plan.signal.addEventListener('abort', () => exchange.abort());
  }

  /** The engine says that it is at work, as it does after each batch of a prompt: the next one may take twice as long. */
  #onNotice(): void {
    const now = this.#lastDataAt;
    const untilNextMs = this.plan.call.silenceMs + 2 * (now - this.#atWorkAt);
    this.#deadline = Math.max(this.#deadline, now + untilNextMs);
    this.#atWorkAt = now;
  }

  /** From here on the idle limit replaces the deadline. */
  #onFirstContent(): void {
    this.#contentAt = this.#lastDataAt;
    this.plan.onContent();
    this.#await(this.#idleTimeoutMs);
  }

  #awaitEnd(): void {
    if (this.#idleTimeoutMs <= MAX_END_MS) return;
    this.#idleTimeoutMs = MAX_END_MS;
    this.#await(MAX_END_MS);
  }

  #await(ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#deps.clock.after(ms, this.#onTime);
  }

  readonly #onTime = (): void => {
    const now = this.#deps.clock.ticks();
    const remainingMs =
      this.#contentAt === null
        ? this.#deadline - now
        : this.#idleTimeoutMs - (now - this.#lastDataAt);
    if (remainingMs > 0) {
      this.#cancelTimer = this.#deps.clock.after(remainingMs, this.#onTime);
      return;
    }
    // An answer that falls silent after its finish reason is whole, as in a relayed stream.
    const last = this.#contentAt === null ? null : this.#reader?.end();
    this.#exchange?.abort();
    const { mode, request } = this.plan.call;
    const isNoStream = mode === 'whole' && !request.isAssemblable();
    if (last?.kind === 'whole') this.#onProgress(last);
    else if (isNoStream || this.changes.has(WITHOUT_STREAM)) this.#settle({ kind: 'unfinished' });
    else this.#settle({ kind: 'timeout', wasSilent: this.#contentAt === null });
  };

  readonly #onCancel = (): void => this.#abort({ kind: 'cancelled' });

  #abort(seen: CallResult): void {
    this.#exchange?.abort();
    this.#settle(seen);
  }

  #settle(seen: CallResult): void {
    this.#cancelTimer();
    this.plan.signal.removeEventListener('abort', this.#onCancel);
    this.#resolve(seen);
  }
}

/**
 * A whole answer as its caller gets it, be it as the events of a stream, while another upstream can still be called if it
 * cannot be written so.
 */
export function inCallersProtocol(
  seen: CallResult,
  { translator, request: { stream, includeUsage, endpoint } }: UpstreamCall,
): CallResult {
  if (seen.kind !== 'answer') return seen;
  if (translator !== null) {
    const whole = translator.whole(seen.body, stream);
    return whole.kind === 'answer' ? { ...seen, body: whole.body } : whole;
  }
  if (!stream) return seen;
  const chunksOf = endpoint.answer.stream?.chunksOf;
  const body = chunksOf ? streamOf(seen.body, (each) => chunksOf(each, includeUsage)) : null;
  return body === null ? NO_STREAM : { ...seen, body };
}

const NO_STREAM: CallResult = { kind: 'bad', detail: 'a whole answer instead of a stream' };

/** `none` keeps servers from compressing a stream (vercel/ai#17007). */
const UNCODED: ReadonlySet<string> = new Set(['', 'none', 'utf-8']);

function codingOf(headers: ResponseHeaders): string {
  const coding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  return UNCODED.has(coding) ? 'identity' : coding;
}

function problemOf(status: number, headers: ResponseHeaders, coding: string): string | null {
  if (coding !== 'identity' && !isDecodable(coding)) return 'an unknown content coding';
  return status < 300 && isPage(headers) ? 'a page of HTML' : null;
}

/**
 * Sends a call, and once more with each change that the upstream asks for by name. What it accepted is remembered, a change
 * that did not help is forgotten. `sent` is told each time.
 */
export async function sendAdjusted(
  plan: ExchangePlan,
  deps: ExchangeDeps,
  sent: (pending: PendingCall) => void = () => {},
): Promise<{ readonly seen: CallResult; readonly pending: PendingCall }> {
  let changes = knownRefusals(plan.known, plan.call.model);
  for (;;) {
    const pending = new PendingCall(plan, changes, deps);
    pending.send();
    sent(pending);
    const seen = await pending.seen;
    const isInTime = deps.clock.ticks() < plan.deadline;
    const next = isInTime ? adjustmentsFor(seen, pending) : [];
    if (next.length === 0) {
      learn(seen, pending);
      return { seen, pending };
    }
    changes = new Set([...changes, ...next]);
  }
}

function adjustmentsFor(
  seen: CallResult,
  { plan, changes: made, request: { body, headers } }: PendingCall,
): readonly Adjustment[] {
  const isRefused = seen.kind === 'status' && (seen.status === 500 || isRefusal(seen));
  if (!isRefused || body === null) return [];
  const { status, error } = seen;
  const { mode, request } = plan.call;
  const { endpoint } = request;
  const mayBeWhole = mode === 'assemble' || endpoint.answer.stream?.chunksOf !== undefined;
  const isForWords = !endpoint.keepsModel;
  return adjustmentsAfter({ status, error, isForWords, body, headers, made, mayBeWhole });
}

function learn(seen: CallResult, { plan: { call, known }, changes }: PendingCall): void {
  // A translated stream asks for it without its caller, too.
  const isTranslated = call.translator !== null && call.request.includeUsage;
  const hadUsage = (call.asksForUsage || isTranslated) && mayAskForUsage(changes);
  const isAnswered = seen.kind === 'stream' || seen.kind === 'answer';
  if (isAnswered) learnRefusals(known, call.model, changes);
  // Some models of NVIDIA NIM fall silent at the field (HKUDS/DeepTutor#420, earendil-works/pi#1528).
  const isUnexplained = isRefusal(seen) || (seen.kind === 'timeout' && seen.wasSilent);
  if (hadUsage && (isAnswered || isUnexplained)) learnUsage(known, call.model, isAnswered);
}

const isRefusal = (seen: CallResult): boolean =>
  seen.kind === 'status' && REFUSAL_STATUSES.has(seen.status);

function mayAskForUsage(changes: ReadonlySet<Adjustment>): boolean {
  return !changes.has(WITHOUT_USAGE) && !changes.has(WITHOUT_STREAM);
}
