import type { CancelSignal, Clock } from '../../platform/clock.ts';
import type { HttpClient, HttpRequest } from '../../platform/http/types.ts';
import { readErrorBody } from '../protocols/upstream-error.ts';
import { type Adjustment, adjustmentAfter, type Adjustments } from './adjustments.ts';
import { type AttemptPlan, type Seen, sendAttempt, type SentAttempt } from './attempt.ts';
import type { UpstreamCall } from './call.ts';
import { inTrace } from './headers.ts';

/** What a call needs beyond the request that is made for it. */
export type CallPlan = Pick<AttemptPlan, 'deadline' | 'hungAt' | 'idleTimeoutMs' | 'onContent'> & {
  /** The upstream's or the machine's. */
  readonly id: string;
  readonly traceparent: string | null;
};

export interface AdjustedCall extends SentAttempt {
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

/** What strict hosts answer to fields that they do not take; 404 for items of a conversation. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 422]);

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

  function send(): SentAttempt {
    const { endpoint } = call;
    const { keys } = call.secrets;
    const mode = made.has('without_stream') && call.mode === 'assemble' ? 'whole' : call.mode;
    const { followsToolResult } = call.request;
    return sendAttempt({ ...plan, endpoint, request, mode, keys, followsToolResult }, deps, signal);
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
    const isUnexplained = last.kind === 'status' ? REFUSALS.has(last.status) : isSilent(last);
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
  if (seen.kind !== 'status' || !REFUSALS.has(seen.status) || endpoint.body !== 'json') return null;
  const { stream } = endpoint.answer;
  const mayBeWhole = mode === 'assemble' || (stream?.asEvents ?? null) !== null;
  const error = readErrorBody(seen.body);
  return adjustmentAfter({ error, path: endpoint.upstreamPath, body, made, mayBeWhole });
}
