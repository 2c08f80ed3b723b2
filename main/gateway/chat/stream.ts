import type { ServerResponse } from 'node:http';
import type { Attempt } from '../routing/attempts.ts';
import type { Dispatch, FallbackPlan } from '../routing/fallback-plan.ts';
import type { RequestContext } from '../routing/router.ts';
import { answerAsChunk } from '../upstream/assembly.ts';
import type { AnswerSeen, StreamSeen } from '../upstream/attempt.ts';
import { createFramer } from '../upstream/sse.ts';
import { breakOff, relay, type RelayEnd } from './relay.ts';
import {
  type BrokenAnswer,
  type ResumeResult,
  resumeAnswer,
  type ResumeDeps,
} from './resume/resume.ts';
import { createSentBytes, type SentBytes } from './resume/sent-bytes.ts';
import type { Splice } from './resume/splice.ts';

/** A committed answer: its first stream, who gives it and who is still ahead. */
export interface Committed {
  readonly seen: StreamSeen;
  readonly attempt: Attempt;
  readonly dispatch: Dispatch;
  readonly plan: FallbackPlan;
}

/**
 * Relays a committed answer to its end. When it breaks off, whoever is still ahead and can carries it on, in
 * the same response; else it ends visibly incomplete, with one error event and no `[DONE]`.
 */
export function relayToEnd(
  { seen, attempt, dispatch, plan }: Committed,
  res: ServerResponse,
  context: RequestContext,
  deps: ResumeDeps,
): Promise<RelayEnd['kind']> {
  const sent = canBreakOff(plan, context) ? createSentBytes() : null;
  const broadcast = { res, context, deps, sent };
  const first = relayStream({ seen, attempt, splice: null }, broadcast);
  // Not awaited here: an async function keeps whatever it was given, the first events' memory included, to its end.
  return resumeWithNext(first, { dispatch, plan }, broadcast);
}

async function resumeWithNext(
  first: Promise<RelayEnd>,
  { dispatch, plan }: Pick<Committed, 'dispatch' | 'plan'>,
  broadcast: Broadcast,
): Promise<RelayEnd['kind']> {
  const { res, context, deps, sent } = broadcast;
  let end = await first;
  let giver = dispatch;
  let way: Continued['way'] | null = null;
  // What was asked to go on and began anew is passed over; what was asked for anew and differs ends it.
  while (end.kind === 'broken' || (end.kind === 'diverged' && way === 'continued')) {
    const isAnew = end.kind === 'diverged';
    const next = await nextSource({ giver, isAnew, plan, sent }, context, deps);
    if (next.kind !== 'answered') plan.close(null);
    if (next.kind === 'cancelled') return next.kind;
    if (next.kind === 'nobody') break;
    announce(next, broadcast);
    giver = next.dispatch;
    way = next.way;
    end =
      next.seen.kind === 'stream'
        ? await relayStream({ ...next, seen: next.seen }, broadcast)
        : writeWhole(next.seen, next, broadcast);
  }
  if (end.kind === 'broken') breakOff(res, end.code, end.detail);
  if (end.kind === 'diverged') breakOff(res, 'upstream_bad_response', end.detail);
  return end.kind;
}

async function nextSource(
  { sent, ...broken }: Omit<BrokenAnswer, 'sent'> & { readonly sent: SentBytes | null },
  context: RequestContext,
  deps: ResumeDeps,
): Promise<ResumeResult> {
  const kept = sent?.taken() ?? null;
  if (kept !== null) return resumeAnswer({ ...broken, sent: kept }, context, deps);
  broken.plan.broken(broken.giver);
  return { kind: 'nobody' };
}

interface Broadcast {
  readonly res: ServerResponse;
  readonly context: RequestContext;
  readonly deps: ResumeDeps;
  readonly sent: SentBytes | null;
}

/** Keeping what is sent costs memory: only where somebody is ahead who might carry it on. */
function canBreakOff(plan: FallbackPlan, { config, call: { request } }: RequestContext): boolean {
  const isAllowed = config.routing.resume !== 'off' && request.endpoint.isResumable;
  return isAllowed && request.choices === 1 && plan.hasAnybody();
}

function relayStream(
  giving: {
    readonly seen: StreamSeen;
    readonly attempt: Attempt;
    readonly splice: Splice | null;
  },
  { res, context, deps, sent }: Broadcast,
): Promise<RelayEnd> {
  const { seen, attempt, splice } = giving;
  const { observer } = attempt;
  const relayed = relay(seen, res, {
    idleTimeoutMs: context.config.routing.idleTimeoutMs,
    choices: context.call.request.choices,
    clock: deps.clock,
    signal: context.signal,
    onEvents: (count) => observer.relayed(count),
    sent,
    splice,
  });
  attempt.answering(seen.contentAt);
  return recorded(relayed, attempt);
}

async function recorded(relayed: Promise<RelayEnd>, attempt: Attempt): Promise<RelayEnd> {
  const end = await relayed;
  record(end, attempt);
  return end;
}

function record(end: RelayEnd, attempt: Attempt): void {
  switch (end.kind) {
    case 'complete':
      return attempt.succeeded();
    case 'broken':
      return attempt.broken(end.detail);
    // To give another answer than somebody else is no fault.
    case 'diverged':
    case 'cancelled':
      return attempt.cancelled();
  }
}

type Continued = Extract<ResumeResult, { readonly kind: 'answered' }>;

/** An SSE comment: clients skip it, people who look see it. */
function announce({ call }: Continued, { res }: Broadcast): void {
  const giver = call.provider === null ? call.upstream : `${call.upstream}/${call.provider}`;
  res.write(`: carried on by ${giver}\n\n`);
}

/** An answer that came as JSON although a stream was asked for, as the rest of the one that was begun. */
function writeWhole(
  { body, contentAt }: AnswerSeen,
  { splice, attempt }: Continued,
  { res, context, sent }: Broadcast,
): RelayEnd {
  const events = Buffer.from(answerAsChunk(body, context.call.request.includeUsage));
  const frames = createFramer().push(events);
  const spliced = frames === null ? null : splice.push(frames);
  const end: RelayEnd =
    spliced === null
      ? { kind: 'broken', code: 'upstream_bad_response', detail: 'an answer without events' }
      : spliced.kind === 'diverged'
        ? spliced
        : { kind: 'complete' };
  if (spliced?.kind === 'frames' && spliced.frames !== null) {
    sent?.add(spliced.frames.bytes);
    res.end(spliced.frames.bytes);
  }
  attempt.answering(contentAt);
  record(end, attempt);
  return end;
}
