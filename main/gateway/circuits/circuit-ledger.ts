import type { PoolHeard, PoolTold } from '#shared/pool-news.ts';
import type { Circuits } from './circuits.ts';
import type { DualTime } from '../../platform/clock.ts';
import {
  type CircuitNews,
  learntAfter,
  learntBetween,
  sharedOf,
  taken,
  takenBeside,
} from './shared-circuit.ts';

/** What this gateway has learnt and has not sent to the others yet, and what they have sent. */
export interface CircuitLedger {
  /** Runs `work` and records how it changes the circuit. */
  noting<T>(id: string, work: () => T): T;
  noteReset(id: string): void;
  /** The id stands for another upstream or machine from now on: asks what the others know of that one. */
  forget(id: string): void;
  told(): Pick<PoolTold, 'circuits' | 'since'>;
  /** Null: the last message got no answer. */
  heard(circuits: PoolHeard['circuits'] | null): void;
  hasUntold(): boolean;
}

interface LedgerDeps {
  readonly now: () => DualTime;
  /** The name by which the others know it now. */
  readonly nameOf: (id: string) => string;
  readonly isKnown: (id: string) => boolean;
  readonly noted: (id: string, learnt: CircuitNews) => void;
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
  const untold = new Map<string, CircuitNews>();
  /** Sent in the exchange that is running. */
  let telling: ReadonlyMap<string, CircuitNews> = new Map();
  let since = 0;

  function note(id: string, learnt: CircuitNews): void {
    untold.set(id, learntAfter(untold.get(id), learnt));
    deps.noted(id, learnt);
  }

  function tellAgain(isTaken: (id: string) => boolean): void {
    for (const [id, learnt] of telling) {
      const next = untold.get(id);
      if (!isTaken(id)) untold.set(id, next === undefined ? learnt : learntAfter(learnt, next));
    }
    telling = new Map();
  }

  function take(heard: PoolHeard['circuits'][number]): void {
    const { name, version, resets, isOwn } = heard;
    const id = idIn(name);
    const before = standings.get(name);
    standings.set(name, { version, resets });
    since = Math.max(since, version);
    const learnt = untold.get(id);
    const isOfOthers = !isOwn && name === nameOf(id) && deps.isKnown(id);
    if (!isOfOthers || learnt === 'reset') return;
    const isReset = before !== undefined && resets > before.resets;
    if (isReset) {
      untold.delete(id);
      own.reset(id);
    }
    const mine = own.at(id);
    const isMine = learnt !== undefined && !isReset;
    const next = isMine ? takenBeside(mine, learnt, heard, now()) : taken(mine, heard, now());
    if (next.breaker !== mine.breaker || next.exclusions !== mine.exclusions) own.put(id, next);
    deps.taken(id);
  }

  return {
    noting(id, work) {
      const before = own.at(id);
      const result = work();
      const learnt = learntBetween(before, own.at(id));
      if (learnt !== null) note(id, learnt);
      return result;
    },
    noteReset: (id) => note(id, 'reset'),
    forget(id) {
      untold.delete(id);
      since = 0;
    },
    told() {
      telling = new Map(untold);
      untold.clear();
      const circuits = [...telling].map(([id, learnt]) => {
        const name = nameOf(id);
        const { version: base, resets } = standings.get(name) ?? UNTOLD;
        const more = learnt === 'reset' ? 1 : 0;
        return { name, base, resets: resets + more, ...sharedOf(own.at(id), now()) };
      });
      return { circuits, since };
    },
    heard(circuits) {
      const ofOwn = circuits?.filter(({ isOwn }) => isOwn) ?? [];
      const isTaken = new Set(ofOwn.map(({ name }) => idIn(name)));
      tellAgain((id) => isTaken.has(id));
      for (const each of circuits ?? []) take(each);
    },
    hasUntold: () => untold.size > 0,
  };
}

/** The id of the upstream or machine that has that name. */
export const idIn = (name: string): string => name.split(' ', 1)[0] ?? name;
