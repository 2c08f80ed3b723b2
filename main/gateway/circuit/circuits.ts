import type { Clock } from '../../platform/clock.ts';
import { isObject } from '../answer.ts';
import type { Failure } from '../outcomes.ts';
import {
  admit,
  admitAnyway,
  NEW_BREAKER,
  reset,
  sent,
  waitMsOf,
  type Breaker,
  type Ticket,
} from './breaker.ts';
import { decodeBreaker, decodeSkips, encodeBreaker, encodeSkips } from './codec.ts';
import { momentOf, remainingMs } from './moment.ts';
import { firstContent, record, type Limits, type Result } from './results.ts';
import { NO_SKIPS, skipFor, skipOf, withSkip, type Skip, type Skips } from './skips.ts';

/** What stands at one id. */
export interface Circuit {
  readonly breaker: Breaker;
  readonly skips: Skips;
}

/** Whether an id may be asked now. */
export type Entry =
  | { readonly kind: 'admitted'; readonly ticket: Ticket }
  | {
      readonly kind: 'out';
      readonly reason: Skip['reason'] | 'circuit_open';
      /** When it comes back, at the latest. */
      readonly waitMs: number;
    };

/** A request that wants in. */
export interface Wish {
  /** The model that would be asked for; some are left alone by themselves. */
  readonly model: string;
  /** How long a probe may stay unheard of. */
  readonly timeoutMs: number;
}

/** The circuits of all upstreams or providers, by id. */
export interface Circuits {
  enter(id: string, wish: Wish): Entry;
  /** For the second try of a request that was let in: what it has just been told is no reason. */
  enterAgain(id: string, wish: Wish): Entry;
  /** Lets a request in although it is early: somebody must be asked (design 4). */
  enterAnyway(id: string, wish: Wish): Entry;
  sent(id: string): void;
  firstContent(id: string, ticket: Ticket, ttftMs: number): void;
  record(id: string, ticket: Ticket, result: Result): void;
  /** Leaves an id alone for what a failure said, if it said so. */
  skipAfter(id: string, failure: Failure, model: string): void;
  reset(id: string): void;
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
}

const NEW: Circuit = { breaker: NEW_BREAKER, skips: NO_SKIPS };

/** Makes an empty set. */
export function createCircuits({ clock, random, limits, changed }: CircuitsDeps): Circuits {
  const circuits = new Map<string, Circuit>();
  const at = (id: string) => circuits.get(id) ?? NEW;
  const now = () => momentOf(clock);

  function setBreaker(id: string, breaker: Breaker): void {
    circuits.set(id, { ...at(id), breaker });
    changed();
  }

  function enterBy(admitting: typeof admit, id: string, { timeoutMs }: Wish): Entry {
    const { breaker } = at(id);
    const admission = admitting(breaker, now(), timeoutMs);
    if (admission.kind === 'refused') {
      return { kind: 'out', reason: 'circuit_open', waitMs: admission.waitMs };
    }
    if (admission.breaker !== breaker) setBreaker(id, admission.breaker);
    return { kind: 'admitted', ticket: admission.ticket };
  }

  return {
    at,
    enter(id, wish) {
      const { breaker, skips } = at(id);
      const skip = skipOf(skips, wish.model, now());
      if (skip === null) return enterBy(admit, id, wish);
      // The circuit may be open beside the skip, and for longer.
      const waitMs = Math.max(remainingMs(skip.until, now()), waitMsOf(breaker, now()));
      return { kind: 'out', reason: skip.reason, waitMs };
    },
    enterAgain: (id, wish) => enterBy(admit, id, wish),
    enterAnyway: (id, wish) => enterBy(admitAnyway, id, wish),
    sent: (id) => setBreaker(id, sent(at(id).breaker)),
    firstContent(id, ticket, ttftMs) {
      const judging = { now: now(), limits: limits() };
      setBreaker(id, firstContent(at(id).breaker, ticket, ttftMs, judging));
    },
    record(id, ticket, result) {
      const judging = { now: now(), limits: limits(), random: random() };
      setBreaker(id, record(at(id).breaker, ticket, result, judging));
    },
    skipAfter(id, failure, model) {
      const wanted = skipFor(failure);
      if (wanted === null) return;
      const { breaker, skips } = at(id);
      circuits.set(id, { breaker, skips: withSkip(skips, wanted, model, now()) });
      changed();
    },
    reset(id) {
      circuits.set(id, { breaker: reset(at(id).breaker), skips: NO_SKIPS });
      changed();
    },
    save: () =>
      Object.fromEntries(
        [...circuits].map(([id, { breaker, skips }]) => [
          id,
          { breaker: encodeBreaker(breaker, now()), skips: encodeSkips(skips, now()) },
        ]),
      ),
    restore(saved) {
      if (!isObject(saved)) return;
      for (const [id, each] of Object.entries(saved)) {
        if (!isObject(each)) continue;
        const breaker = decodeBreaker(each['breaker'], now()) ?? NEW_BREAKER;
        const skips = decodeSkips(each['skips'], now()) ?? NO_SKIPS;
        circuits.set(id, { breaker, skips });
      }
    },
  };
}
