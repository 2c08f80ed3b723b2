import { isObject } from '#shared/objects.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';
import {
  admit,
  admitForced,
  admitIfClosed,
  type Breaker,
  cooledDown,
  NEW_BREAKER,
  reset,
  sent,
  type Permit,
  waitMsOf,
} from './breaker.ts';
import { decodeBreaker, decodeExclusions, encodeBreaker, encodeExclusions } from './codec.ts';
import { type DualTime, dualTimeOf, remainingMs } from './deadline.ts';
import {
  NO_EXCLUSIONS,
  type Exclusion,
  exclusionFor,
  findExclusion,
  type Exclusions,
  withExclusion,
} from './exclusions.ts';
import { firstContent, type Limits, outrun, record, type Result } from './transitions.ts';

/** What stands at one id. */
export interface Circuit {
  readonly breaker: Breaker;
  readonly exclusions: Exclusions;
  /** The epoch that its last reset began. */
  readonly epoch: number;
}

/** Whether an id may be asked now. */
export type AdmissionResult = { readonly kind: 'admitted'; readonly permit: Permit } | Excluded;

/** Why an id is left alone. */
export interface Excluded {
  readonly kind: 'excluded';
  readonly reason: Exclusion['reason'] | 'circuit_open';
  /** When it comes back, at the latest. */
  readonly waitMs: number;
  /** The same in clock ticks, for comparing with what was seen at another time. */
  readonly backAtTicks: number;
}

/** Where a request was let in, and what its result is handed back with. */
export interface HeldPermit {
  readonly id: string;
  readonly permit: Permit;
}

/** A request that wants in. */
export interface AdmissionRequest {
  /** The model that would be asked for; some are left alone by themselves. */
  readonly model: string;
  /** How long a probe may stay unheard of. */
  readonly timeoutMs: number;
}

/**
 * For a request that goes to an upstream as it was before a reset: perhaps with a key that is no
 * more. What comes of it says nothing about the upstream that is there now.
 */
const STALE: AdmissionResult = { kind: 'admitted', permit: { serial: -1 } };

/** The circuits of all upstreams or providers, by id. */
export interface Circuits {
  /** Counts resets. Each request bears the epoch in which it took up addresses and keys. */
  epoch(): number;
  admit(id: string, request: AdmissionRequest, epoch: number): AdmissionResult;
  /** What would keep a request for `model` out now; null: nothing would. Nobody is let in. */
  exclusionOf(id: string, model: string): Excluded | null;
  /** For the second try of a request that was let in: what it has just been told is no reason. */
  admitRetry(id: string, request: AdmissionRequest, epoch: number): AdmissionResult;
  /** Admits a request before the cool-down is over, because no other upstream is left. */
  admitForced(id: string, request: AdmissionRequest, epoch: number): AdmissionResult;
  /** Lets a request in that need not be sent: only where the breaker is closed. */
  admitIfClosed(id: string, request: AdmissionRequest, epoch: number): AdmissionResult;
  sent(id: string): void;
  /** `slowMs` of the time are the machine's own; what the prompt was known to take is no slowness. */
  firstContent(
    id: string,
    permit: Permit,
    took: { readonly ttftMs: number; readonly slowMs: number },
  ): void;
  /** Another was first: `silentMs` went by without content. */
  outrun(
    id: string,
    permit: Permit,
    took: { readonly silentMs: number; readonly slowMs: number },
  ): void;
  record(id: string, permit: Permit, result: Result): void;
  /** Leaves an id alone for what a failure said, if it said so. */
  excludeAfter(
    id: string,
    failure: Failure,
    of: { readonly model: string; readonly epoch: number },
  ): void;
  /** It is said to be well: its cool-down is over, and the next request is the probe. */
  coolDown(id: string): void;
  reset(id: string): void;
  /** It is gone for good. */
  forget(id: string): void;
  /** Ids that something is known of. */
  ids(): Iterable<string>;
  at(id: string): Circuit;
  /** Plain JSON of everything, to be kept over a restart. */
  save(): unknown;
  /** Takes what `save` gave, before the first request; anything else is left out. */
  restore(saved: unknown): void;
}

type AdmitArguments = Parameters<Circuits['admit']>;

/** What the circuits are given. */
export interface CircuitsDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly limits: () => Limits;
  /** Called after each change. */
  readonly changed: () => void;
  /** A circuit has opened, or its probe has failed. */
  readonly opened: (id: string, how: Opening) => void;
}

/** How a circuit has come to be open. */
export interface Opening {
  /** It was closed; else its probe has failed. */
  readonly isFirst: boolean;
  /** Those who asked waited for it: a look that it answers does not show that it would answer them. */
  readonly wasSilent: boolean;
}

/** Null where it has not opened. A probe that was sent before its time leaves all as it was. */
function openingOf(before: Breaker, after: Breaker, limits: Limits): Opening | null {
  if (after.state.kind !== 'open' || before.state.kind === 'open') return null;
  if (before.state.kind === 'probing') {
    if (before.state.forced) return null;
    return {
      isFirst: false,
      wasSilent: after.state.consecutiveOpens > before.state.consecutiveOpens,
    };
  }
  const { consecutiveSlow } = after.health;
  return { isFirst: true, wasSilent: consecutiveSlow >= limits.ttftSlowThreshold };
}

/**
 * True when the provider was removed during a call: recording the call's result would bring its circuit
 * back. Whatever was called has been counted as sent.
 */
export function isRemoved(id: string, circuits: Circuits): boolean {
  return circuits.at(id).breaker.health.requests === 0;
}

function withGrace(limits: Limits, excusedMs: number): Limits {
  return excusedMs === 0
    ? limits
    : { ...limits, ttftThresholdMs: limits.ttftThresholdMs + excusedMs };
}

function outFor(reason: Excluded['reason'], waitMs: number, clock: Clock): Excluded {
  return { kind: 'excluded', reason, waitMs, backAtTicks: clock.ticks() + waitMs };
}

function excluded({ breaker, exclusions }: Circuit, model: string, clock: Clock): Excluded | null {
  if (exclusions === NO_EXCLUSIONS) return null;
  const now = dualTimeOf(clock);
  const exclusion = findExclusion(exclusions, model, now);
  if (exclusion === null) return null;
  // The circuit may be open beside the skip, and for longer.
  const waitMs = Math.max(remainingMs(exclusion.until, now), waitMsOf(breaker, now));
  return outFor(exclusion.reason, waitMs, clock);
}

const NEW: Circuit = { breaker: NEW_BREAKER, exclusions: NO_EXCLUSIONS, epoch: 0 };

/** Makes an empty set. */
export function createCircuits(deps: CircuitsDeps): Circuits {
  const { clock, random, limits, changed, opened } = deps;
  const circuits = new Map<string, Circuit>();
  let epoch = 0;
  const at = (id: string) => circuits.get(id) ?? NEW;
  const now = () => dualTimeOf(clock);

  function setBreaker(id: string, breaker: Breaker): void {
    const before = at(id);
    circuits.set(id, { ...before, breaker });
    changed();
    const opening = openingOf(before.breaker, breaker, limits());
    if (opening !== null) opened(id, opening);
  }

  const judging = (excusedMs = 0) => {
    return { now: now(), limits: withGrace(limits(), excusedMs), random: random() };
  };

  const isStale = (id: string, begun: number) => begun < at(id).epoch;

  function admitBy(admitting: typeof admit, ...asked: AdmitArguments): AdmissionResult {
    const [id, { timeoutMs }, begun] = asked;
    if (isStale(id, begun)) return STALE;
    const { breaker } = at(id);
    const admission = admitting(breaker, now(), timeoutMs);
    if (admission.kind === 'refused') return outFor('circuit_open', admission.waitMs, clock);
    if (admission.breaker !== breaker) setBreaker(id, admission.breaker);
    return { kind: 'admitted', permit: admission.permit };
  }

  function admitUnlessExcluded(admitting: typeof admit, ...asked: AdmitArguments): AdmissionResult {
    const [id, { model }, begun] = asked;
    const out = isStale(id, begun) ? null : excluded(at(id), model, clock);
    return out ?? admitBy(admitting, ...asked);
  }

  return {
    at,
    epoch: () => epoch,
    admit: (...asked) => admitUnlessExcluded(admit, ...asked),
    admitIfClosed: (...asked) => admitUnlessExcluded(admitIfClosed, ...asked),
    exclusionOf(id, model) {
      const out = excluded(at(id), model, clock);
      if (out !== null) return out;
      const waitMs = waitMsOf(at(id).breaker, now());
      return waitMs === 0 ? null : outFor('circuit_open', waitMs, clock);
    },
    admitRetry: (...asked) => admitBy(admit, ...asked),
    admitForced: (...asked) => admitBy(admitForced, ...asked),
    sent: (id) => setBreaker(id, sent(at(id).breaker)),
    firstContent(id, permit, { ttftMs, slowMs }) {
      const { breaker } = at(id);
      setBreaker(id, firstContent(breaker, permit, ttftMs, judging(ttftMs - slowMs)));
    },
    outrun(id, permit, { silentMs, slowMs }) {
      setBreaker(id, outrun(at(id).breaker, permit, silentMs, judging(silentMs - slowMs)));
    },
    record(id, permit, result) {
      setBreaker(id, record(at(id).breaker, permit, result, judging()));
    },
    excludeAfter(id, failure, of) {
      const wanted = exclusionFor(failure);
      if (wanted === null || isStale(id, of.epoch)) return;
      const exclusions = withExclusion(at(id).exclusions, wanted, of.model, now());
      circuits.set(id, { ...at(id), exclusions });
      changed();
    },
    coolDown(id) {
      const { breaker } = at(id);
      const cooled = cooledDown(breaker, now());
      if (cooled !== breaker) setBreaker(id, cooled);
    },
    reset(id) {
      epoch += 1;
      circuits.set(id, { breaker: reset(at(id).breaker), exclusions: NO_EXCLUSIONS, epoch });
      changed();
    },
    forget(id) {
      if (circuits.delete(id)) changed();
    },
    ids: () => circuits.keys(),
    save: () => encoded(circuits, now()),
    restore(saved) {
      for (const [id, known] of decoded(saved, now())) circuits.set(id, { ...known, epoch });
    },
  };
}

function encoded(circuits: ReadonlyMap<string, Circuit>, now: DualTime): unknown {
  return Object.fromEntries(
    [...circuits].map(([id, { breaker, exclusions }]) => [
      id,
      { breaker: encodeBreaker(breaker, now), skips: encodeExclusions(exclusions, now) },
    ]),
  );
}

function decoded(saved: unknown, now: DualTime): [id: string, known: Omit<Circuit, 'epoch'>][] {
  if (!isObject(saved)) return [];
  return Object.entries(saved).flatMap(([id, each]) => {
    if (!isObject(each)) return [];
    const breaker = decodeBreaker(each['breaker'], now) ?? NEW_BREAKER;
    const exclusions = decodeExclusions(each['skips'], now) ?? NO_EXCLUSIONS;
    return [[id, { breaker, exclusions }]];
  });
}
