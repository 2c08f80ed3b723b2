import { readErrorBody } from '../protocols/upstream-error.ts';
import {
  type Adjustment,
  adjustmentAfter,
  type Adjustments,
  REFUSAL_STATUSES,
} from './adjustments.ts';
import type { UpstreamCall } from './call.ts';
import type { PendingCall, Seen } from './exchange.ts';

/**
 * The changes with which a call is to be sent once more, because the upstream asks for one by name; null if it is not.
 * What it accepted is remembered, a change that did not help is forgotten.
 */
export function changesAfter(
  seen: Seen,
  { plan, request }: PendingCall,
  { ticks, adjustments }: { readonly ticks: number; readonly adjustments: Adjustments },
): ReadonlySet<Adjustment> | null {
  const next = ticks < plan.deadline ? adjustmentFor(seen, plan, request.body) : null;
  if (next !== null) return new Set([...plan.changes, next]);
  learn(seen, plan, adjustments);
  return null;
}

type Sent = Pick<PendingCall['plan'], 'call' | 'id' | 'changes'>;

function adjustmentFor(
  seen: Seen,
  { call: { endpoint, mode }, changes }: Sent,
  body: Buffer | null,
): Adjustment | null {
  if (seen.kind !== 'status' || body === null || endpoint.body !== 'json') return null;
  const { status } = seen;
  if (status !== 500 && !REFUSAL_STATUSES.has(status)) return null;
  const { stream } = endpoint.answer;
  const mayBeWhole = mode === 'assemble' || (stream?.asEvents ?? null) !== null;
  const error = readErrorBody(seen.body);
  return adjustmentAfter({
    status,
    error,
    path: endpoint.upstreamPath,
    body,
    made: changes,
    mayBeWhole,
  });
}

function learn(seen: Seen, { call, id, changes }: Sent, adjustments: Adjustments): void {
  // A translated stream asks for it without its caller, too.
  const isTranslated = call.translator !== null && call.request.includeUsage;
  const hadUsage = (call.asksForUsage || isTranslated) && mayAskForUsage(changes);
  if (seen.kind === 'stream' || seen.kind === 'answer')
    adjustments.accepted(id, call.model, changes, hadUsage);
  // Some models of NVIDIA NIM fall silent at the field (HKUDS/DeepTutor#420, earendil-works/pi#1528).
  const isUnexplained =
    seen.kind === 'status'
      ? REFUSAL_STATUSES.has(seen.status)
      : seen.kind === 'timeout' && seen.wasSilent;
  if (hadUsage && isUnexplained) adjustments.suspectUsage(id, call.model);
}

/** Whether a call was sent with a request for usage that its caller did not make. */
export function hidesUsage(
  { asksForUsage }: UpstreamCall,
  changes: ReadonlySet<Adjustment>,
): boolean {
  return asksForUsage && mayAskForUsage(changes);
}

function mayAskForUsage(changes: ReadonlySet<Adjustment>): boolean {
  return !changes.has('without_usage') && !changes.has('without_stream');
}
