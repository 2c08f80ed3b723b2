import { type Clock, type DualTime, dualTimeOf, remainingMs } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';
import {
  admit,
  admitForced,
  admitIfClosed,
  type Breaker,
  type Conditions,
  cooledDown,
  firstContent,
  hedgeLost,
  type Limits,
  NEW_BREAKER,
  type Opening,
  openingOf,
  type Permit,
  record,
  reset,
  type Result,
  sent,
  waitMsOf,
} from './breaker.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import type { ExclusionReason, Values } from '../memory/topics.ts';
import { exclude, exclusionFor, findExclusion } from './exclusions.ts';
import { noteSetback } from './seen.ts';

export type Circuit = Values['circuit'];

export type AdmissionResult =
  | {
      readonly kind: 'admitted';
      readonly permit: Permit;
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

export interface CircuitPermit {
  readonly id: string;
  readonly permit: Permit;
}

/**
 * `in_turn`: in routing order; `again`: a retry, or after a wait that the upstream asked for, when exclusions by the first
 * try do not count; `forced`: during the cool-down, as no other upstream is left; `hedge`: during a slow call, only
 * while the breaker is closed.
 */
export type AdmissionMode = 'in_turn' | 'again' | 'forced' | 'hedge';

export interface AdmissionRequest {
  /** The model that would be requested: `model_not_found` excludes single models. */
  readonly model: string;
  /** A probe without a result is given up after this time. */
  readonly timeoutMs: number;
}

/**
 * For a request that began before the last reset and may use a former address or key: it is admitted, and its
 * permit matches no breaker state, so that its result is counted but changes nothing.
 */
const STALE: Permit = { serial: -1 };

export interface Circuits {
  /** Counts resets. A request keeps the epoch in which it read addresses and keys. */
  epoch(): number;
  admit(
    id: string,
    request: AdmissionRequest,
    epoch: number,
    mode?: AdmissionMode,
  ): AdmissionResult;
  /** What excludes a request for `model` now, without admitting one; null: nothing. */
  exclusionOf(id: string, model: string): Rejection | null;
  sent(id: string): void;
  /** `slowMs`: the part of `ttftMs` that counts as slow, without the time for reading the prompt. */
  firstContent(
    id: string,
    permit: Permit,
    took: { readonly ttftMs: number; readonly slowMs: number },
  ): void;
  /** Another call's content came first, after `silentMs` without any here. */
  hedgeLost(
    id: string,
    permit: Permit,
    took: { readonly silentMs: number; readonly slowMs: number },
  ): void;
  /** `at`: when the call ended; left out: now. */
  record(id: string, permit: Permit, result: Result, at?: DualTime): void;
  excludeAfter(
    id: string,
    failure: Failure,
    of: { readonly model: string; readonly epoch: number },
  ): void;
  /** Ends a cool-down early, after a passed health check: the next request is the probe. */
  coolDown(id: string): void;
  reset(id: string): void;
  at(id: string): Circuit;
  /** To be called with each save. */
  saved(): void;
}

export interface CircuitsDeps {
  readonly memory: Memory;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly config: () => { readonly circuit: Limits };
  /** Windows; they are notified of each change while any is open. */
  readonly watchers: Watchers;
  /** Called at the first change, and at the first one after each `saved`. */
  readonly unsaved: () => void;
  /** Called when a circuit has opened, or its probe has failed. */
  readonly opened: (id: string, how: Opening) => void;
}

export interface Watchers {
  readonly isWatched: boolean;
  changed(): void;
}

function conditionsOf({ config, random }: CircuitsDeps, now: DualTime, excusedMs = 0): Conditions {
  const { circuit } = config();
  const ttftThresholdMs = circuit.ttftThresholdMs + excusedMs;
  return { now, limits: { ...circuit, ttftThresholdMs }, random: random() };
}

function excludedFor(reason: Rejection['reason'], waitMs: number, { ticks }: DualTime): Rejection {
  return { kind: 'excluded', reason, waitMs, backAtTicks: ticks + waitMs };
}

function exclusionAt(
  known: Knowledge,
  { breaker }: Circuit,
  model: string,
  now: DualTime,
): Rejection | null {
  const exclusion = findExclusion(known, model, now);
  if (exclusion === null) return null;
  // The circuit may be open as well, and for longer.
  const waitMs = Math.max(remainingMs(exclusion.until, now), waitMsOf(breaker, now));
  return excludedFor(exclusion.reason, waitMs, now);
}

function openAt({ breaker }: Circuit, now: DualTime): Rejection | null {
  const waitMs = waitMsOf(breaker, now);
  return waitMs === 0 ? null : excludedFor('circuit_open', waitMs, now);
}

function createNotice({ watchers, unsaved }: Pick<CircuitsDeps, 'watchers' | 'unsaved'>) {
  let isSaved = true;
  return {
    changed(): void {
      if (watchers.isWatched) watchers.changed();
      if (!isSaved) return;
      isSaved = false;
      unsaved();
    },
    saved(): void {
      isSaved = true;
    },
  };
}

const ADMITTING = {
  in_turn: admit,
  again: admit,
  forced: admitForced,
  hedge: admitIfClosed,
} as const satisfies Record<AdmissionMode, typeof admit>;

const NEW: Circuit = { breaker: NEW_BREAKER, epoch: 0 };

export function createCircuits(deps: CircuitsDeps): Circuits {
  const { memory, clock, config, opened } = deps;
  const notice = createNotice(deps);
  let epoch = 0;
  const at = (id: string) => memory.of(id).get('circuit') ?? NEW;
  const now = () => dualTimeOf(clock);
  const conditionsAt = (time: DualTime, excusedMs?: number) => conditionsOf(deps, time, excusedMs);

  function change(id: string, next: (before: Breaker) => Breaker): void {
    const circuit = at(id);
    const breaker = next(circuit.breaker);
    if (breaker === circuit.breaker) return;
    memory.of(id).set('circuit', '', { ...circuit, breaker });
    notice.changed();
    if (breaker.state.kind !== 'open') return;
    const opening = openingOf(circuit.breaker, breaker, config().circuit);
    if (opening !== null) opened(id, opening);
  }

  function admitted(
    id: string,
    { timeoutMs, model }: AdmissionRequest,
    requestEpoch: number,
    mode: AdmissionMode = 'in_turn',
  ): AdmissionResult {
    const circuit = at(id);
    const time = now();
    if (requestEpoch < circuit.epoch) return { kind: 'admitted', permit: STALE, at: time.ticks };
    const isHeeded = mode === 'in_turn' || mode === 'hedge';
    const excluded = isHeeded ? exclusionAt(memory.of(id), circuit, model, time) : null;
    if (excluded !== null) return excluded;
    const admission = ADMITTING[mode](circuit.breaker, time, timeoutMs);
    if (admission.kind === 'refused') return excludedFor('circuit_open', admission.waitMs, time);
    change(id, () => admission.breaker);
    return { kind: 'admitted', permit: admission.permit, at: time.ticks };
  }

  function resetNow(id: string): void {
    epoch += 1;
    const known = memory.of(id);
    known.set('circuit', '', { breaker: reset(at(id).breaker), epoch });
    known.deleteWhere('left_alone', () => true);
    notice.changed();
  }

  return {
    at,
    epoch: () => epoch,
    admit: admitted,
    exclusionOf(id, model) {
      const [circuit, time] = [at(id), now()];
      return exclusionAt(memory.of(id), circuit, model, time) ?? openAt(circuit, time);
    },
    sent: (id) => change(id, sent),
    firstContent(id, permit, { ttftMs, slowMs }) {
      change(id, (before) =>
        firstContent(before, permit, ttftMs, conditionsAt(now(), ttftMs - slowMs)),
      );
    },
    hedgeLost(id, permit, { silentMs, slowMs }) {
      change(id, (before) =>
        hedgeLost(before, permit, silentMs, conditionsAt(now(), silentMs - slowMs)),
      );
    },
    record(id, permit, result, endedAt = now()) {
      change(id, (before) => record(before, permit, result, conditionsAt(endedAt)));
    },
    excludeAfter(id, failure, of) {
      const requested = exclusionFor(failure);
      if (requested === null || of.epoch < at(id).epoch) return;
      const [known, time] = [memory.of(id), now()];
      const { reason } = requested;
      exclude(known, requested, of.model, time);
      // What excludes it may end before its cause does.
      if (reason === 'credentials' || reason === 'quota')
        noteSetback(known, { at: time.wallMs, reason, by: 'request' });
      notice.changed();
    },
    coolDown: (id) => change(id, (before) => cooledDown(before, now())),
    reset: resetNow,
    saved: () => notice.saved(),
  };
}
