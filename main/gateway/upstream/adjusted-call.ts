import type { CancelSignal, Clock } from '../../platform/clock.ts';
import type { HttpClient, HttpRequest } from '../../platform/http/types.ts';
import { readErrorBody } from '../protocols/upstream-error.ts';
import {
  type Adjustment,
  adjustmentAfter,
  type Adjustments,
  REFUSAL_STATUSES,
} from './adjustments.ts';
import { type ExchangePlan, type Seen, sendExchange, type SentExchange } from './exchange.ts';
import type { UpstreamCall } from './call.ts';
import { inTrace } from './headers.ts';

/** What a call needs beyond the request that is made for it. */
export type CallPlan = Pick<ExchangePlan, 'deadline' | 'hungAt' | 'idleTimeoutMs' | 'onContent'> & {
  /** The upstream's or the machine's. */
  readonly id: string;
  readonly traceparent: string | null;
};

export interface AdjustedCall extends SentExchange {
  /** Whether it was last sent with a request for usage that the caller did not make. */
  readonly hidesUsage: () => boolean;
  /** As it was last sent. */
  readonly request: () => Omit<HttpRequest, 'fresh'>;
}

interface AdjustedCallDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly adjustments: Adjustments;
}

/**
 * Sends a call, and once more for each change that the upstream asks for by name, all within one deadline. What it
 * accepted is remembered; a change that did not help is forgotten.
 */
export function sendAdjusted(
  call: UpstreamCall,
  { id, traceparent, ...plan }: CallPlan,
  deps: AdjustedCallDeps,
  signal: CancelSignal,
): AdjustedCall {
  const { adjustments } = deps;
  let made = adjustments.at(id, call.model);
  let request = inTrace(call.write(made), traceparent);
  let sent = send();

  function send(): SentExchange {
    const { endpoint } = call;
    const { keys } = call.secrets;
    const mode = made.has('without_stream') && call.mode === 'assemble' ? 'whole' : call.mode;
    const { followsToolResult } = call.request;
    return sendExchange(
      { ...plan, endpoint, request, mode, keys, followsToolResult },
      deps,
      signal,
    );
  }

  async function seen(): Promise<Seen> {
    for (;;) {
      const last = await sent.seen;
      const next = adjustmentFor(last, call, { made, body: request.body });
      if (next === null || deps.clock.ticks() >= plan.deadline) {
        learn(last);
        return last;
      }
      made = new Set([...made, next]);
      request = inTrace(call.write(made), traceparent);
      sent = send();
    }
  }

  const isAskedForUsage = () => !made.has('without_usage') && !made.has('without_stream');
  const hidesUsage = () => call.asksForUsage && isAskedForUsage();

  function learn(last: Seen): void {
    // A translated stream asks for it without its caller, too.
    const isTranslated = call.translator !== null && call.request.includeUsage;
    const hadUsage = (call.asksForUsage || isTranslated) && isAskedForUsage();
    if (last.kind === 'stream' || last.kind === 'answer')
      adjustments.accepted(id, call.model, made, hadUsage);
    // Some models of NVIDIA NIM fall silent at the field (HKUDS/DeepTutor#420, earendil-works/pi#1528).
    const isUnexplained =
      last.kind === 'status' ? REFUSAL_STATUSES.has(last.status) : isSilent(last);
    if (hadUsage && isUnexplained) adjustments.suspectUsage(id, call.model);
  }

  return {
    sentAt: sent.sentAt,
    hasLeft: () => sent.hasLeft(),
    spent: () => sent.spent(),
    seen: seen(),
    hidesUsage,
    request: () => request,
  };
}

const isSilent = (seen: Seen): boolean => seen.kind === 'timeout' && seen.wasSilent;

function adjustmentFor(
  seen: Seen,
  { endpoint, mode }: UpstreamCall,
  { made, body }: { readonly made: ReadonlySet<Adjustment>; readonly body: Buffer | null },
): Adjustment | null {
  if (body === null) return null;
  if (seen.kind !== 'status' || endpoint.body !== 'json') return null;
  const { status } = seen;
  if (status !== 500 && !REFUSAL_STATUSES.has(status)) return null;
  const { stream } = endpoint.answer;
  const mayBeWhole = mode === 'assemble' || (stream?.asEvents ?? null) !== null;
  const error = readErrorBody(seen.body);
  return adjustmentAfter({ status, error, path: endpoint.upstreamPath, body, made, mayBeWhole });
}
