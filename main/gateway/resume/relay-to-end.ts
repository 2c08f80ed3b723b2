import type { ServerResponse } from 'node:http';
import type { AnswerSeen, StreamSeen } from '../attempt.ts';
import { breakOff, relay, type RelayEnd } from '../relay.ts';
import { answerAsChunk } from '../response/assembly.ts';
import { createFramer } from '../response/sse-frames.ts';
import type { Journey } from '../router.ts';
import type { Step, Walk } from '../walk/walk.ts';
import type { AttemptLog } from '../watch/attempt-log.ts';
import { carryOn, type BrokenAnswer, type CarriedOn, type ResumeDeps } from './carry-on.ts';
import { createSentBytes, type SentBytes } from './sent-bytes.ts';
import type { Splice } from './splice.ts';

/** A committed answer: its first stream, who gives it and who is still ahead. */
export interface Committed {
  readonly seen: StreamSeen;
  readonly log: AttemptLog;
  readonly step: Step;
  readonly walk: Walk;
}

/**
 * Relays a committed answer to its end. When it breaks off, whoever is still ahead and can carries it on, in
 * the same response; else it ends visibly incomplete, with one error event and no `[DONE]`.
 */
export function relayToEnd(
  { seen, log, step, walk }: Committed,
  res: ServerResponse,
  journey: Journey,
  deps: ResumeDeps,
): Promise<RelayEnd['kind']> {
  const sent = mayBreak(walk, journey) ? createSentBytes() : null;
  const broadcast = { res, journey, deps, sent };
  const first = relayStream({ seen, log, splice: null }, broadcast);
  // Not awaited here: an async function keeps whatever it was given, the first events' memory included, to its end.
  return goOn(first, { step, walk }, broadcast);
}

async function goOn(
  first: Promise<RelayEnd>,
  { step, walk }: Pick<Committed, 'step' | 'walk'>,
  broadcast: Broadcast,
): Promise<RelayEnd['kind']> {
  const { res, journey, deps, sent } = broadcast;
  let end = await first;
  let giver = step;
  let way: Continued['way'] | null = null;
  // What was asked to go on and began anew is passed over; what was asked for anew and differs ends it.
  while (end.kind === 'broken' || (end.kind === 'diverged' && way === 'continued')) {
    const isAnew = end.kind === 'diverged';
    const next = await nextGiver({ giver, isAnew, walk, sent }, journey, deps);
    if (next.kind !== 'answered') walk.close(null);
    if (next.kind === 'cancelled') return next.kind;
    if (next.kind === 'nobody') break;
    announce(next, broadcast);
    giver = next.step;
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

async function nextGiver(
  { sent, ...broken }: Omit<BrokenAnswer, 'sent'> & { readonly sent: SentBytes | null },
  journey: Journey,
  deps: ResumeDeps,
): Promise<CarriedOn> {
  const kept = sent?.taken() ?? null;
  if (kept !== null) return carryOn({ ...broken, sent: kept }, journey, deps);
  broken.walk.broken(broken.giver);
  return { kind: 'nobody' };
}

interface Broadcast {
  readonly res: ServerResponse;
  readonly journey: Journey;
  readonly deps: ResumeDeps;
  readonly sent: SentBytes | null;
}

/** Keeping what is sent costs memory: only where somebody is ahead who might carry it on. */
function mayBreak(walk: Walk, { config, call: { request } }: Journey): boolean {
  return config.routing.resume !== 'off' && request.choices === 1 && walk.hasAnybody();
}

function relayStream(
  giving: {
    readonly seen: StreamSeen;
    readonly log: AttemptLog;
    readonly splice: Splice | null;
  },
  { res, journey, deps, sent }: Broadcast,
): Promise<RelayEnd> {
  const { seen, log, splice } = giving;
  const relayed = relay(seen, res, {
    idleTimeoutMs: journey.config.routing.idleTimeoutMs,
    choices: journey.call.request.choices,
    clock: deps.clock,
    signal: journey.signal,
    onEvents: (count) => log.relayed(count),
    sent,
    splice,
  });
  log.answering(seen.contentAt);
  return noted(relayed, log);
}

async function noted(relayed: Promise<RelayEnd>, log: AttemptLog): Promise<RelayEnd> {
  const end = await relayed;
  note(end, log);
  return end;
}

function note(end: RelayEnd, log: AttemptLog): void {
  switch (end.kind) {
    case 'complete':
      return log.succeeded();
    case 'broken':
      return log.broken(end.detail);
    // To give another answer than somebody else is no fault.
    case 'diverged':
    case 'cancelled':
      return log.cancelled();
  }
}

type Continued = Extract<CarriedOn, { readonly kind: 'answered' }>;

/** An SSE comment: clients skip it, people who look see it. */
function announce({ call }: Continued, { res }: Broadcast): void {
  const giver = call.provider === null ? call.upstream : `${call.upstream}/${call.provider}`;
  res.write(`: carried on by ${giver}\n\n`);
}

/** An answer that came as JSON although a stream was asked for, as the rest of the one that was begun. */
function writeWhole(
  { body, contentAt }: AnswerSeen,
  { splice, log }: Continued,
  { res, journey, sent }: Broadcast,
): RelayEnd {
  const events = Buffer.from(answerAsChunk(body, journey.call.request.includeUsage));
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
  log.answering(contentAt);
  note(end, log);
  return end;
}
