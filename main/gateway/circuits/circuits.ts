import { type Clock, type DualTime, dualTimeOf, remainingMs } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';
import {
  admissionTo,
  type AdmissionMode,
  type Breaker,
  type Conditions,
  cooledDown,
  COUNTED_ONLY,
  firstContent,
  type Limits,
  NEW_BREAKER,
  type Opening,
  openingOf,
  type Permit,
  record,
  reset,
  type Result,
  sent,
  type Silence,
  waitMsOf,
} from './breaker.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import { type ExclusionReason, TOPICS, type Values } from '../memory/topics.ts';
import { noteSetback } from './seen.ts';

export type Circuit = Values['circuit'];

export type AdmissionResult =
  | {
      readonly kind: 'admitted';
      readonly permit: CircuitPermit;
      /** In clock ticks. */
      readonly at: number;
    }
  | Rejection;

/** Not admitted, because of an exclusion or of the open circuit. */
export interface Rejection {
  readonly kind: 'excluded';
  readonly reason: ExclusionReason | 'circuit_open';
  /** Until requests are admitted again, at the latest. */
  readonly waitMs: number;
  /** The end of that time in clock ticks, comparable with one computed at another time. */
  readonly backAtTicks: number;
}

export interface CircuitPermit extends Permit {
  readonly id: string;
}

export interface AdmissionRequest {
  /** The model that would be requested: `model_not_found` excludes single models. */
  readonly model: string;
  /** A probe without a result is given up after this time. */
  readonly timeoutMs: number;
}

export interface CircuitsDeps {
  readonly memory: Memory;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly config: () => { readonly circuit: Limits };
  /** Called with each change of what is admitted. */
  readonly changed: () => void;
  /** Called when a circuit has opened, or its probe has failed. */
  readonly opened: (id: string, how: Opening) => void;
}

function excludedFor(reason: Rejection['reason'], waitMs: number, { ticks }: DualTime): Rejection {
  return { kind: 'excluded', reason, waitMs, backAtTicks: ticks + waitMs };
}

/** The longest exclusion. */
const MAX_MS = TOPICS.left_alone.ms;

/** The exclusion that a failure calls for; null when none. */
export function exclusionFor({
  reason,
  retryAfterMs,
}: Pick<Failure, 'reason' | 'retryAfterMs'>): RequestedExclusion | null {
  switch (reason) {
    case 'rate_limited':
      return { reason, ms: Math.min(Math.max(retryAfterMs ?? 15_000, 1000), MAX_MS) };
    case 'quota':
    case 'credentials':
      return { reason, ms: MAX_MS };
    case 'busy':
      return { reason, ms: 2000 };
    case 'model_not_found':
      return { reason, ms: 60_000 };
    default:
      return null;
  }
}

interface RequestedExclusion {
  readonly reason: ExclusionReason;
  readonly ms: number;
}

interface Exclusion {
  readonly reason: ExclusionReason;
  /** For `model_not_found` only. */
  readonly model: string | null;
  readonly until: DualTime;
}

/** Those in force. */
export function exclusionsIn(known: Knowledge): readonly Exclusion[] {
  return known
    .entries('left_alone')
    .flatMap(({ value, until }) => (until === null ? [] : [{ ...value, until }]));
}

/** `name` is used for `model_not_found` only. An exclusion already in force never ends earlier. */
function exclude(
  known: Knowledge,
  { reason, ms }: RequestedExclusion,
  name: string,
  now: DualTime,
): void {
  const model = reason === 'model_not_found' ? name : null;
  const isSame = (each: Exclusion) => each.reason === reason && each.model === model;
  const before = exclusionsIn(known).find(isSame);
  if (before === undefined || remainingMs(before.until, now) < ms)
    known.set('left_alone', `${reason} ${model}`, { reason, model }, ms);
}

/**
 * The exclusion that applies to a request for `model`, null when none does: the one that ends last, and `busy`
 * only where there is no other, because it alone may be overridden.
 */
function exclusionAt(
  known: Knowledge,
  { breaker }: Circuit,
  model: string,
  now: DualTime,
): Rejection | null {
  if (known.count('left_alone') === 0) return null;
  const applicable = exclusionsIn(known)
    .filter((each) => (each.model ?? model) === model)
    .toSorted((a, b) => remainingMs(a.until, now) - remainingMs(b.until, now));
  const exclusion = applicable.findLast(({ reason }) => reason !== 'busy') ?? applicable[0];
  if (exclusion === undefined) return null;
  // The circuit may be open as well, and for longer.
  const waitMs = Math.max(remainingMs(exclusion.until, now), waitMsOf(breaker, now));
  return excludedFor(exclusion.reason, waitMs, now);
}

const NEW: Circuit = { breaker: NEW_BREAKER, epoch: 0 };

export type Circuits = ReturnType<typeof createCircuits>;

export function createCircuits(deps: CircuitsDeps) {
  const { memory, clock, config, random, changed, opened } = deps;
  let epoch = 0;
  const at = (id: string): Circuit => memory.of(id).get('circuit') ?? NEW;
  const now = () => dualTimeOf(clock);
  const conditionsAt = (time: DualTime): Conditions => {
    return { now: time, limits: config().circuit, random: random() };
  };

  function change(id: string, next: (before: Breaker) => Breaker): void {
    const circuit = at(id);
    const breaker = next(circuit.breaker);
    if (breaker === circuit.breaker) return;
    memory.of(id).set('circuit', '', { ...circuit, breaker });
    // What only counts in its health is shown and saved with its request.
    if (breaker.state === circuit.breaker.state) return;
    changed();
    if (breaker.state.kind !== 'open') return;
    const opening = openingOf(circuit.breaker, breaker, config().circuit);
    if (opening !== null) opened(id, opening);
  }

  return {
    at,
    /** Counts resets. A request keeps the epoch in which it read addresses and keys. */
    epoch: () => epoch,
    admit(
      id: string,
      { timeoutMs, model }: AdmissionRequest,
      requestEpoch: number,
      mode: AdmissionMode,
    ): AdmissionResult {
      const [circuit, time] = [at(id), now()];
      const { ticks, wallMs } = time;
      // It began before the last reset, and may use a former address or key.
      if (requestEpoch < circuit.epoch) {
        const permit = { id, serial: COUNTED_ONLY, nextTo: null, wallMs };
        return { kind: 'admitted', permit, at: ticks };
      }
      const isHeeded = mode === 'in_turn' || mode === 'hedge';
      const excluded = isHeeded ? exclusionAt(memory.of(id), circuit, model, time) : null;
      if (excluded !== null) return excluded;
      const admission = admissionTo(circuit.breaker, time, mode, timeoutMs);
      if (admission.kind === 'refused') return excludedFor('circuit_open', admission.waitMs, time);
      change(id, () => admission.breaker);
      return { kind: 'admitted', permit: { id, ...admission.permit }, at: ticks };
    },
    /** What excludes a request for `model` now, without admitting one; null: nothing. */
    exclusionOf(id: string, model: string): Rejection | null {
      const [circuit, time] = [at(id), now()];
      const excluded = exclusionAt(memory.of(id), circuit, model, time);
      const waitMs = waitMsOf(circuit.breaker, time);
      return excluded ?? (waitMs === 0 ? null : excludedFor('circuit_open', waitMs, time));
    },
    sent: (id: string) => change(id, sent),
    firstContent(permit: CircuitPermit, took: Silence) {
      change(permit.id, (before) => firstContent(before, permit, took, conditionsAt(now())));
    },
    /** `endedAt`: when the call ended; left out: now. */
    record(permit: CircuitPermit, result: Result, endedAt = now()) {
      change(permit.id, (before) => record(before, permit, result, conditionsAt(endedAt)));
    },
    excludeAfter(
      id: string,
      failure: Failure,
      of: { readonly model: string; readonly epoch: number },
    ) {
      const requested = exclusionFor(failure);
      if (requested === null || of.epoch < at(id).epoch) return;
      const [known, time] = [memory.of(id), now()];
      const { reason } = requested;
      exclude(known, requested, of.model, time);
      // What excludes it may end before its cause does.
      if (reason === 'credentials' || reason === 'quota')
        noteSetback(known, { at: time.wallMs, reason, by: 'request' });
      changed();
    },
    /** Ends a cool-down early, after a passed health check: the next request is the probe. */
    coolDown: (id: string) => change(id, (before) => cooledDown(before, now())),
    reset(id: string) {
      epoch += 1;
      const known = memory.of(id);
      known.set('circuit', '', { breaker: reset(at(id).breaker), epoch });
      known.deleteWhere('left_alone', () => true);
      changed();
    },
  };
}
