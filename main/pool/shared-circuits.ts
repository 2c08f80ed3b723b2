import {
  type PoolAnswer,
  type PoolUpdate,
  type SharedCircuit,
  type SharedSkip,
  CLAIM_MS,
} from './protocol.ts';
import { type Breaker, reset, waitMsOf } from '../gateway/circuits/breaker.ts';
import type { Circuits, Excluded } from '../gateway/circuits/circuits.ts';
import {
  activeExclusions,
  type Exclusion,
  EXCLUSION_REASONS,
  type Exclusions,
  MAX_EXCLUSION_MS,
  NO_EXCLUSIONS,
  withExclusion,
} from '../gateway/circuits/exclusions.ts';
import type { CircuitRecord } from '../gateway/circuits/saved-circuits.ts';
import { type Clock, type DualTime, dualTimeOf, later, remainingMs } from '../platform/clock.ts';

/* A circuit as the gateways of a pool know it, and how what two of them have learnt is put together. */

type ReceivedCircuit = PoolAnswer['circuits'][number];

/** What has changed in a circuit here and has not been sent yet; `other`: its cool-down or its exclusions. */
type CircuitChange = 'reset' | 'closed' | 'opened' | 'other';

/** Null: nothing that others need to know. A probe concerns only the gateway that claimed it. */
function learntBetween(before: CircuitRecord, after: CircuitRecord): CircuitChange | null {
  const was = before.breaker.state;
  const is = after.breaker.state;
  if (was !== is) {
    if (was.kind !== 'closed' && is.kind === 'closed') return 'closed';
    if (was.kind === 'closed' && is.kind !== 'closed') return 'opened';
    const isLater = was.kind !== 'closed' && is.kind === 'open' && is.until !== was.until;
    if (isLater) return 'other';
  }
  return before.exclusions === after.exclusions ? null : 'other';
}

/** The later of two changes replaces the earlier, except that a reset is kept, and `other` replaces nothing. */
function learntAfter(known: CircuitChange | undefined, next: CircuitChange): CircuitChange {
  return known !== undefined && (known === 'reset' || next === 'other') ? known : next;
}

function sharedOf(
  { breaker: { state, health }, exclusions }: CircuitRecord,
  now: DualTime,
): Pick<SharedCircuit, 'cooldown' | 'skips'> {
  return {
    cooldown:
      state.kind === 'closed'
        ? null
        : {
            leftMs: remainingMs(state.until, now),
            openings: state.consecutiveOpens,
            error: health.lastError,
          },
    skips: activeExclusions(exclusions, now).map(({ until, ...each }) => ({
      ...each,
      leftMs: remainingMs(until, now),
    })),
  };
}

/** The circuit as another gateway knows it, in place of what was known here. */
function taken(
  mine: CircuitRecord,
  received: Pick<ReceivedCircuit, 'cooldown' | 'skips'>,
  now: DualTime,
): CircuitRecord {
  const exclusions = received.skips.flatMap((skip) => exclusionOf(skip, now));
  return {
    breaker: breakerFrom(mine.breaker, received.cooldown, now),
    exclusions: exclusions.length === 0 ? NO_EXCLUSIONS : exclusions,
  };
}

/** The same where this gateway has learnt something meanwhile that the other did not know. */
function takenBeside(
  mine: CircuitRecord,
  learnt: Exclude<CircuitChange, 'reset'>,
  received: ReceivedCircuit,
  now: DualTime,
): CircuitRecord {
  const theirs = taken(mine, received, now);
  let { exclusions } = mine;
  for (const skip of received.skips)
    for (const { reason, ...each } of exclusionOf(skip, now)) {
      const model = 'model' in each ? each.model : '';
      exclusions = withExclusion(exclusions, { reason, ms: skip.leftMs }, model, now);
    }
  return { breaker: laterBreaker(mine.breaker, theirs.breaker, learnt, now), exclusions };
}

function laterBreaker(
  mine: Breaker,
  theirs: Breaker,
  learnt: Exclude<CircuitChange, 'reset'>,
  now: DualTime,
): Breaker {
  // A probe that succeeded, or a circuit that has just opened, is newer than whatever the other knew.
  if (learnt === 'closed') return mine;
  if (theirs.state.kind !== 'open' || mine.state.kind !== 'open')
    return learnt === 'opened' ? mine : theirs;
  const isLonger = remainingMs(mine.state.until, now) >= remainingMs(theirs.state.until, now);
  return isLonger ? mine : theirs;
}

function breakerFrom(mine: Breaker, received: SharedCircuit['cooldown'], now: DualTime): Breaker {
  const { state, health } = mine;
  if (received === null) return state.kind === 'closed' ? mine : reset(mine);
  // A running probe finds out more than the other knew.
  if (state.kind === 'probing') return mine;
  const until = later(now, received.leftMs);
  const open = { kind: 'open', until, consecutiveOpens: received.openings } as const;
  if (state.kind === 'open') return { ...mine, state: open };
  const failure = { lastError: received.error ?? health.lastError, lastFailAt: now.wallMs };
  return { ...mine, health: { ...health, ...failure }, state: open };
}

function exclusionOf({ reason, model, leftMs }: SharedSkip, now: DualTime): Exclusions {
  const until = later(now, Math.min(leftMs, MAX_EXCLUSION_MS));
  if (leftMs === 0) return [];
  if (reason === 'model_not_found') return [{ reason, model: model ?? '', until }];
  const known = EXCLUSION_REASONS.find((each) => each === reason);
  return known === undefined ? [] : [{ reason: known, until } satisfies Exclusion];
}

interface LedgerDeps {
  readonly now: () => DualTime;
  readonly nameOf: (id: string) => string;
  readonly isKnown: (id: string) => boolean;
  readonly noted: (id: string, learnt: CircuitChange) => void;
  /** Called when what another gateway knows has replaced what was known here. */
  readonly taken: (id: string) => void;
}

/** What the others know of a name. */
interface Standing {
  readonly version: number;
  readonly resets: number;
}

const UNTOLD: Standing = { version: 0, resets: 0 };

/** What this gateway has learnt and has not sent to the others yet, and what they have sent. */
function createCircuitLedger(own: Circuits, deps: LedgerDeps) {
  const { now, nameOf } = deps;
  const standings = new Map<string, Standing>();
  const unsent = new Map<string, CircuitChange>();
  /** Sent in the exchange that is running. */
  let sending: ReadonlyMap<string, CircuitChange> = new Map();
  let since = 0;
  /** Whether the last exchange got no answer: what it sent may stand in the database, in place of what the next one sends. */
  let isUncertain = false;

  function note(id: string, learnt: CircuitChange): void {
    unsent.set(id, learntAfter(unsent.get(id), learnt));
    deps.noted(id, learnt);
  }

  function tellAgain(isTaken: (id: string) => boolean): void {
    for (const [id, learnt] of sending) {
      const next = unsent.get(id);
      if (!isTaken(id)) unsent.set(id, next === undefined ? learnt : learntAfter(learnt, next));
    }
    sending = new Map();
  }

  function take(received: PoolAnswer['circuits'][number]): void {
    const { name, version, resets, isOwn } = received;
    const id = idIn(name);
    const before = standings.get(name);
    standings.set(name, { version, resets });
    since = Math.max(since, version);
    const learnt = unsent.get(id);
    const isOfOthers = !isOwn && name === nameOf(id) && deps.isKnown(id);
    if (!isOfOthers || learnt === 'reset') return;
    const isReset = before !== undefined && resets > before.resets;
    if (isReset) {
      unsent.delete(id);
      own.reset(id);
    }
    const mine = own.at(id);
    const isMine = learnt !== undefined && !isReset;
    const next = isMine ? takenBeside(mine, learnt, received, now()) : taken(mine, received, now());
    if (next.breaker !== mine.breaker || next.exclusions !== mine.exclusions) own.put(id, next);
    deps.taken(id);
  }

  return {
    /** Runs `work` and records how it changes the circuit. */
    recording<T>(id: string, work: () => T): T {
      const before = own.at(id);
      const result = work();
      const learnt = learntBetween(before, own.at(id));
      if (learnt !== null) note(id, learnt);
      return result;
    },
    noteReset: (id: string) => note(id, 'reset'),
    /** The id stands for another upstream or machine from now on: asks what the others know of that one. */
    forget(id: string): void {
      unsent.delete(id);
      since = 0;
    },
    outgoing(): Pick<PoolUpdate, 'circuits' | 'since'> {
      sending = new Map(unsent);
      unsent.clear();
      const circuits = [...sending].map(([id, learnt]) => {
        const name = nameOf(id);
        const { version: base, resets } = standings.get(name) ?? UNTOLD;
        const more = learnt === 'reset' ? 1 : 0;
        return { name, base, resets: resets + more, ...sharedOf(own.at(id), now()) };
      });
      return { circuits, since };
    },
    /** Null: the last message got no answer. */
    received(circuits: PoolAnswer['circuits'] | null): void {
      const ofOwn = (isUncertain ? [] : (circuits ?? [])).filter(({ isOwn }) => isOwn);
      const isTaken = new Set(ofOwn.map(({ name }) => idIn(name)));
      isUncertain = circuits === null;
      tellAgain((id) => isTaken.has(id));
      for (const each of circuits ?? []) take(each);
    },
    hasUnsent: (): boolean => unsent.size > 0,
  };
}

const idIn = (name: string): string => name.split(' ', 1)[0] ?? name;

/** The circuits of a gateway that is one of several. */
export type SharedCircuits = ReturnType<typeof createSharedCircuits>;

interface SharedCircuitsDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Whether no other gateway can be asked, so that this one probes without a claim. */
  readonly isAlone: () => boolean;
  /** The name by which others know it now. */
  readonly nameOf: (id: string) => string;
  readonly isKnown: (id: string) => boolean;
  /** Called when there is something to send. */
  readonly changed: () => void;
}

/** For a circuit that another gateway may probe: when to look at it again. */
const LOOK_AGAIN_MS = 1000;
/** The gateway that opened a circuit claims its probe this long before the end of the cool-down. */
const CLAIM_AHEAD_MS = 2500;

/**
 * Routing uses `circuits`, which stay in memory; the next exchange sends what has changed to the other gateways.
 */
export function createSharedCircuits(own: Circuits, deps: SharedCircuitsDeps) {
  const { clock, isAlone, nameOf, changed } = deps;
  /** Circuits that this gateway has opened and whose probe it will claim, once. */
  const met = new Set<string>();
  const now = () => dualTimeOf(clock);
  const stateOf = (id: string) => own.at(id).breaker.state;
  const claims = createProbeClaims({
    ...deps,
    isUnused: (id) => stateOf(id).kind === 'open',
    wanted: changed,
  });
  const ledger = createCircuitLedger(own, {
    ...deps,
    now,
    noted(id) {
      if (!dropIfClosed(id)) met.add(id);
      changed();
    },
    taken: dropIfClosed,
  });

  function dropIfClosed(id: string): boolean {
    const isClosed = stateOf(id).kind === 'closed';
    if (isClosed) drop(id);
    return isClosed;
  }

  function drop(id: string): void {
    met.delete(id);
    claims.drop(id);
  }

  function forget(id: string): void {
    ledger.forget(id);
    drop(id);
    changed();
  }

  /** Null: this gateway may admit. */
  function leftToOthers(id: string): Excluded | null {
    const { breaker } = own.at(id);
    if (breaker.state.kind === 'closed' || waitMsOf(breaker, now()) > 0) return null;
    if (isAlone() || claims.has(id)) return null;
    const backAtTicks = clock.ticks() + LOOK_AGAIN_MS;
    return { kind: 'excluded', reason: 'circuit_open', waitMs: LOOK_AGAIN_MS, backAtTicks };
  }

  function claimAhead(): void {
    for (const id of met) {
      const state = stateOf(id);
      if (state.kind === 'closed' || remainingMs(state.until, now()) > CLAIM_AHEAD_MS) continue;
      met.delete(id);
      claims.want(id);
    }
  }

  return {
    circuits: {
      ...own,
      ...admitting(own, leftToOthers),
      firstContent: (id, ...rest) => ledger.recording(id, () => own.firstContent(id, ...rest)),
      hedgeLost: (id, ...rest) => ledger.recording(id, () => own.hedgeLost(id, ...rest)),
      record: (id, ...rest) => ledger.recording(id, () => own.record(id, ...rest)),
      excludeAfter: (id, ...rest) => ledger.recording(id, () => own.excludeAfter(id, ...rest)),
      coolDown: (id) => ledger.recording(id, () => own.coolDown(id)),
      reset(id) {
        own.reset(id);
        ledger.noteReset(id);
      },
      replaced(id) {
        own.replaced(id);
        forget(id);
      },
      swap(a, b) {
        own.swap(a, b);
        forget(a);
        forget(b);
      },
      forget(id) {
        own.forget(id);
        forget(id);
      },
    } satisfies Circuits,
    /** What the others do not know yet. */
    outgoing(): Pick<PoolUpdate, 'circuits' | 'since' | 'claims' | 'released'> {
      claimAhead();
      const { claims: claimed, released } = claims.outgoing();
      return { ...ledger.outgoing(), claims: claimed.map(nameOf), released: released.map(nameOf) };
    },
    /** Takes the answer to what was sent at `sentTicks`; null: there was none. */
    received(answer: PoolAnswer | null, sentTicks: number): void {
      ledger.received(answer?.circuits ?? null);
      if (answer === null) return;
      const held = answer.claims.map(({ name, isWanted }) => ({ id: idIn(name), isWanted }));
      claims.received(held, sentTicks);
      for (const { id } of held) dropIfClosed(id);
      if (ledger.hasUnsent()) changed();
    },
  };
}

/** The methods that admit; where `leftToOthers` says so, they refuse what would be another gateway's probe. */
function admitting(
  own: Circuits,
  leftToOthers: (id: string) => Excluded | null,
): Pick<Circuits, 'admit' | 'exclusionOf'> {
  return {
    admit: (id, request, epoch, mode) =>
      (mode === 'forced' ? null : leftToOthers(id)) ?? own.admit(id, request, epoch, mode),
    exclusionOf: (id, model) => own.exclusionOf(id, model) ?? leftToOthers(id),
  };
}

interface ClaimsDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Whether its probe could begin with the next request and none is running. */
  readonly isUnused: (id: string) => boolean;
  readonly wanted: () => void;
}

interface Claim {
  readonly sinceTicks: number;
  readonly untilTicks: number;
}

/** The holder stops this much earlier than others may begin. */
const MARGIN_MS = 1000;
/** How long a claim is asked for after the last request that needed it. */
const REQUESTED_MS = 3000;
/** How long a claim is held at least before others may have it. */
const OWN_TURN_MS = 1000;
/** All claims are sent each second. Beyond this number, those whose circuit no request needs are given up. */
const MAX_CLAIMS = 64;

/** The circuits whose probe this gateway may send; for each circuit one gateway of a pool may at a time. */
function createProbeClaims({ clock, random, isUnused, wanted }: ClaimsDeps) {
  const held = new Map<string, Claim>();
  /** By id: when a request last wanted it. */
  const requested = new Map<string, number>();
  const released = new Set<string>();

  function want(id: string): void {
    if (held.has(id)) return;
    if (!requested.has(id)) wanted();
    requested.set(id, clock.ticks());
  }

  function drop(id: string): void {
    requested.delete(id);
    if (held.delete(id)) released.add(id);
  }

  function makeRoom(): void {
    for (const id of held.keys()) {
      if (held.size + requested.size <= MAX_CLAIMS) return;
      if (isUnused(id)) drop(id);
    }
  }

  return {
    /** Whether this gateway may probe; if not, asks for the claim. */
    has(id: string): boolean {
      if ((held.get(id)?.untilTicks ?? -Infinity) > clock.ticks()) return true;
      want(id);
      return false;
    },
    want,
    drop,
    /** Ids to send to the others. */
    outgoing(): { readonly claims: readonly string[]; readonly released: readonly string[] } {
      for (const [id, ticks] of requested)
        if (clock.ticks() - ticks > REQUESTED_MS) requested.delete(id);
      makeRoom();
      const claims = [...held.keys(), ...requested.keys()].slice(0, MAX_CLAIMS);
      const outgoing = { claims, released: [...released].filter((id) => !claims.includes(id)) };
      released.clear();
      return outgoing;
    },
    /** Takes the answer to what was sent at `sentTicks`. */
    received(
      claims: readonly { readonly id: string; readonly isWanted: boolean }[],
      sentTicks: number,
    ): void {
      const known: ReadonlyMap<string, Claim> = new Map(held);
      held.clear();
      for (const { id, isWanted } of claims) {
        const sinceTicks = known.get(id)?.sinceTicks ?? clock.ticks();
        // Given up meanwhile: released in the next exchange.
        if (!known.has(id) && !requested.has(id)) {
          released.add(id);
          continue;
        }
        requested.delete(id);
        held.set(id, { sinceTicks, untilTicks: sentTicks + CLAIM_MS - MARGIN_MS });
        // At random, so that two gateways with few requests do not keep passing it back and forth.
        const isTheirTurn = isWanted && clock.ticks() - sinceTicks > OWN_TURN_MS && isUnused(id);
        if (isTheirTurn && random() < 0.5) drop(id);
      }
    },
  };
}
