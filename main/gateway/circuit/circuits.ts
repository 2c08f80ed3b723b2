import type { Clock } from '../../platform/clock.ts';
import { isObject } from '#shared/objects.ts';
import type { Failure } from '../outcome/outcomes.ts';
import {
  admit,
  admitAnyway,
  admitClosed,
  cooledDown,
  NEW_BREAKER,
  reset,
  sent,
  waitMsOf,
  type Breaker,
  type Ticket,
} from './breaker.ts';
import { decodeBreaker, decodeSkips, encodeBreaker, encodeSkips } from './codec.ts';
import { momentOf, remainingMs, type Moment } from './moment.ts';
import { firstContent, outrun, record, type Limits, type Result } from './results.ts';
import { NO_SKIPS, skipFor, skipOf, withSkip, type Skip, type Skips } from './skips.ts';

/** What stands at one id. */
export interface Circuit {
  readonly breaker: Breaker;
  readonly skips: Skips;
  /** The epoch that its last reset began. */
  readonly epoch: number;
}

/** Whether an id may be asked now. */
export type Entry = { readonly kind: 'admitted'; readonly ticket: Ticket } | Out;

/** Why an id is left alone. */
export interface Out {
  readonly kind: 'out';
  readonly reason: Skip['reason'] | 'circuit_open';
  /** When it comes back, at the latest. */
  readonly waitMs: number;
  /** The same in clock ticks, for comparing with what was seen at another time. */
  readonly backAtTicks: number;
}

/** Where a request was let in, and what its result is handed back with. */
export interface Admitted {
  readonly id: string;
  readonly ticket: Ticket;
}

/** A request that wants in. */
export interface Wish {
  /** The model that would be asked for; some are left alone by themselves. */
  readonly model: string;
  /** How long a probe may stay unheard of. */
  readonly timeoutMs: number;
}

/**
 * For a request that goes to an upstream as it was before a reset: perhaps with a key that is no
 * more. What comes of it says nothing about the upstream that is there now.
 */
const FORMER: Entry = { kind: 'admitted', ticket: { serial: -1 } };

/** The circuits of all upstreams or providers, by id. */
export interface Circuits {
  /** Counts resets. Each request bears the epoch in which it took up addresses and keys. */
  epoch(): number;
  enter(id: string, wish: Wish, epoch: number): Entry;
  /** What would keep a request for `model` out now; null: nothing would. Nobody is let in. */
  outOf(id: string, model: string): Out | null;
  /** For the second try of a request that was let in: what it has just been told is no reason. */
  enterAgain(id: string, wish: Wish, epoch: number): Entry;
  /** Lets a request in although it is early: somebody must be asked (design 4). */
  enterAnyway(id: string, wish: Wish, epoch: number): Entry;
  /** Lets a request in that need not be sent: only where the breaker is closed. */
  enterClosed(id: string, wish: Wish, epoch: number): Entry;
  sent(id: string): void;
  /** `slowMs` of the time are the machine's own; what the prompt was known to take is no slowness. */
  firstContent(
    id: string,
    ticket: Ticket,
    took: { readonly ttftMs: number; readonly slowMs: number },
  ): void;
  /** Another was first: `silentMs` went by without content. */
  outrun(
    id: string,
    ticket: Ticket,
    took: { readonly silentMs: number; readonly slowMs: number },
  ): void;
  record(id: string, ticket: Ticket, result: Result): void;
  /** Leaves an id alone for what a failure said, if it said so. */
  skipAfter(
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
  if (after.gate.kind !== 'open' || before.gate.kind === 'open') return null;
  if (before.gate.kind === 'probing') {
    if (before.gate.forced) return null;
    return { isFirst: false, wasSilent: after.gate.openings > before.gate.openings };
  }
  const { consecutiveSlow } = after.health;
  return { isFirst: true, wasSilent: consecutiveSlow >= limits.ttftSlowThreshold };
}

function excusing(limits: Limits, excusedMs: number): Limits {
  return excusedMs === 0
    ? limits
    : { ...limits, ttftThresholdMs: limits.ttftThresholdMs + excusedMs };
}

function outFor(reason: Out['reason'], waitMs: number, clock: Clock): Out {
  return { kind: 'out', reason, waitMs, backAtTicks: clock.ticks() + waitMs };
}

function skipped({ breaker, skips }: Circuit, model: string, clock: Clock): Out | null {
  if (skips === NO_SKIPS) return null;
  const now = momentOf(clock);
  const skip = skipOf(skips, model, now);
  if (skip === null) return null;
  // The circuit may be open beside the skip, and for longer.
  const waitMs = Math.max(remainingMs(skip.until, now), waitMsOf(breaker, now));
  return outFor(skip.reason, waitMs, clock);
}

const NEW: Circuit = { breaker: NEW_BREAKER, skips: NO_SKIPS, epoch: 0 };

/** Makes an empty set. */
export function createCircuits(deps: CircuitsDeps): Circuits {
  const { clock, random, limits, changed, opened } = deps;
  const circuits = new Map<string, Circuit>();
  let epoch = 0;
  const at = (id: string) => circuits.get(id) ?? NEW;
  const now = () => momentOf(clock);

  function setBreaker(id: string, breaker: Breaker): void {
    const before = at(id);
    circuits.set(id, { ...before, breaker });
    changed();
    const opening = openingOf(before.breaker, breaker, limits());
    if (opening !== null) opened(id, opening);
  }

  const judging = (excusedMs = 0) => {
    return { now: now(), limits: excusing(limits(), excusedMs), random: random() };
  };

  const isFormer = (id: string, begun: number) => begun < at(id).epoch;

  function enterBy(admitting: typeof admit, id: string, { timeoutMs }: Wish, begun: number): Entry {
    if (isFormer(id, begun)) return FORMER;
    const { breaker } = at(id);
    const admission = admitting(breaker, now(), timeoutMs);
    if (admission.kind === 'refused') {
      return outFor('circuit_open', admission.waitMs, clock);
    }
    if (admission.breaker !== breaker) setBreaker(id, admission.breaker);
    return { kind: 'admitted', ticket: admission.ticket };
  }

  function enterUnskipped(admitting: typeof admit, id: string, wish: Wish, begun: number): Entry {
    const out = isFormer(id, begun) ? null : skipped(at(id), wish.model, clock);
    return out ?? enterBy(admitting, id, wish, begun);
  }

  return {
    at,
    epoch: () => epoch,
    enter: (id, wish, begun) => enterUnskipped(admit, id, wish, begun),
    enterClosed: (id, wish, begun) => enterUnskipped(admitClosed, id, wish, begun),
    outOf(id, model) {
      const out = skipped(at(id), model, clock);
      if (out !== null) return out;
      const waitMs = waitMsOf(at(id).breaker, now());
      return waitMs === 0 ? null : outFor('circuit_open', waitMs, clock);
    },
    enterAgain: (id, wish, begun) => enterBy(admit, id, wish, begun),
    enterAnyway: (id, wish, begun) => enterBy(admitAnyway, id, wish, begun),
    sent: (id) => setBreaker(id, sent(at(id).breaker)),
    firstContent(id, ticket, { ttftMs, slowMs }) {
      const { breaker } = at(id);
      setBreaker(id, firstContent(breaker, ticket, ttftMs, judging(ttftMs - slowMs)));
    },
    outrun(id, ticket, { silentMs, slowMs }) {
      setBreaker(id, outrun(at(id).breaker, ticket, silentMs, judging(silentMs - slowMs)));
    },
    record(id, ticket, result) {
      setBreaker(id, record(at(id).breaker, ticket, result, judging()));
    },
    skipAfter(id, failure, of) {
      const wanted = skipFor(failure);
      if (wanted === null || isFormer(id, of.epoch)) return;
      circuits.set(id, { ...at(id), skips: withSkip(at(id).skips, wanted, of.model, now()) });
      changed();
    },
    coolDown(id) {
      const { breaker } = at(id);
      const cooled = cooledDown(breaker, now());
      if (cooled !== breaker) setBreaker(id, cooled);
    },
    reset(id) {
      epoch += 1;
      circuits.set(id, { breaker: reset(at(id).breaker), skips: NO_SKIPS, epoch });
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

function encoded(circuits: ReadonlyMap<string, Circuit>, now: Moment): unknown {
  return Object.fromEntries(
    [...circuits].map(([id, { breaker, skips }]) => [
      id,
      { breaker: encodeBreaker(breaker, now), skips: encodeSkips(skips, now) },
    ]),
  );
}

function decoded(saved: unknown, now: Moment): [id: string, known: Omit<Circuit, 'epoch'>][] {
  if (!isObject(saved)) return [];
  return Object.entries(saved).flatMap(([id, each]) => {
    if (!isObject(each)) return [];
    const breaker = decodeBreaker(each['breaker'], now) ?? NEW_BREAKER;
    const skips = decodeSkips(each['skips'], now) ?? NO_SKIPS;
    return [[id, { breaker, skips }]];
  });
}
