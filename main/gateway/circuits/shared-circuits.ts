import type { PoolAnswer, PoolUpdate } from '#shared/pool-update.ts';
import { type Clock, dualTimeOf, remainingMs } from '../../platform/clock.ts';
import { waitMsOf } from './breaker.ts';
import { createCircuitLedger, idIn } from './circuit-ledger.ts';
import type { AdmissionResult, Circuits, Excluded } from './circuits.ts';
import { createProbeClaims } from './probe-claims.ts';

/** The circuits of a gateway that is one of several. */
export interface SharedCircuits {
  readonly circuits: Circuits;
  /** What the others do not know yet. */
  outgoing(): Pick<PoolUpdate, 'circuits' | 'since' | 'claims' | 'released'>;
  /** Takes the answer to what was sent at `sentTicks`; null: there was none. */
  received(answer: PoolAnswer | null, sentTicks: number): void;
}

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
export function createSharedCircuits(own: Circuits, deps: SharedCircuitsDeps): SharedCircuits {
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
      reset(id, cause) {
        own.reset(id, cause);
        if (cause === 'replaced') forget(id);
        else ledger.noteReset(id);
      },
      forget(id) {
        own.forget(id);
        forget(id);
      },
    },
    outgoing() {
      claimAhead();
      const { claims: claimed, released } = claims.outgoing();
      return { ...ledger.outgoing(), claims: claimed.map(nameOf), released: released.map(nameOf) };
    },
    received(answer, sentTicks) {
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
function admitting(own: Circuits, leftToOthers: (id: string) => Excluded | null) {
  const by =
    (mode: 'admit' | 'admitRetry' | 'admitIfClosed') =>
    (...args: Parameters<Circuits['admit']>): AdmissionResult =>
      leftToOthers(args[0]) ?? own[mode](...args);
  return {
    admit: by('admit'),
    admitRetry: by('admitRetry'),
    admitIfClosed: by('admitIfClosed'),
    exclusionOf: (id: string, model: string) => own.exclusionOf(id, model) ?? leftToOthers(id),
  } satisfies Partial<Circuits>;
}
