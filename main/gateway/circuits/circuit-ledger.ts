import type { PoolAnswer, PoolUpdate } from '#shared/pool-update.ts';
import type { Circuits } from './circuits.ts';
import type { DualTime } from '../../platform/clock.ts';
import {
  type CircuitChange,
  learntAfter,
  learntBetween,
  sharedOf,
  taken,
  takenBeside,
} from './shared-circuit.ts';

/** What this gateway has learnt and has not sent to the others yet, and what they have sent. */
export interface CircuitLedger {
  /** Runs `work` and records how it changes the circuit. */
  recording<T>(id: string, work: () => T): T;
  noteReset(id: string): void;
  /** The id stands for another upstream or machine from now on: asks what the others know of that one. */
  forget(id: string): void;
  outgoing(): Pick<PoolUpdate, 'circuits' | 'since'>;
  /** Null: the last message got no answer. */
  received(circuits: PoolAnswer['circuits'] | null): void;
  hasUnsent(): boolean;
}

interface LedgerDeps {
  readonly now: () => DualTime;
  /** The name by which the others know it now. */
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

export function createCircuitLedger(own: Circuits, deps: LedgerDeps): CircuitLedger {
  const { now, nameOf } = deps;
  const standings = new Map<string, Standing>();
  const unsent = new Map<string, CircuitChange>();
  /** Sent in the exchange that is running. */
  let sending: ReadonlyMap<string, CircuitChange> = new Map();
  let since = 0;

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
    recording(id, work) {
      const before = own.at(id);
      const result = work();
      const learnt = learntBetween(before, own.at(id));
      if (learnt !== null) note(id, learnt);
      return result;
    },
    noteReset: (id) => note(id, 'reset'),
    forget(id) {
      unsent.delete(id);
      since = 0;
    },
    outgoing() {
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
    received(circuits) {
      const ofOwn = circuits?.filter(({ isOwn }) => isOwn) ?? [];
      const isTaken = new Set(ofOwn.map(({ name }) => idIn(name)));
      tellAgain((id) => isTaken.has(id));
      for (const each of circuits ?? []) take(each);
    },
    hasUnsent: () => unsent.size > 0,
  };
}

/** The id of the upstream or machine that has that name. */
export const idIn = (name: string): string => name.split(' ', 1)[0] ?? name;
