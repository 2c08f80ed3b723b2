import type { Clock } from '../../../platform/clock.ts';
import type { StoreOpening } from '../protocol.ts';
import type { StoredState } from '../store.ts';
import type { PoolChanges, PoolProvider } from './protocol.ts';
import type { PoolTimes } from './times.ts';

/** What is read before the registry is there to take it. */
export interface PoolOpening {
  isOver(): boolean;
  add(changes: PoolChanges): void;
  /** The registry begins with what was read. */
  complete(warning: string | null): void;
  refuse(opening: Extract<StoreOpening, { readonly kind: 'unusable' }>): void;
  cancel(): void;
}

interface OpeningDeps {
  readonly clock: Clock;
  readonly times: PoolTimes;
  readonly say: (opening: StoreOpening) => void;
  /** Why the database has not answered. */
  readonly problem: () => string;
}

export function createOpening({ clock, times, say, problem }: OpeningDeps): PoolOpening {
  let read: PoolChanges[] | null = [];

  function complete(warning: string | null): void {
    if (read === null) return;
    const state = stateOf(read);
    read = null;
    cancel();
    say({ kind: 'open', state, unreadable: [], warning });
  }

  const cancel = clock.after(times.startMs, () => complete(problem()));
  return {
    isOver: () => read === null,
    add: (changes) => void read?.push(changes),
    complete,
    refuse(opening) {
      read = null;
      cancel();
      say(opening);
    },
    cancel,
  };
}

function stateOf(pieces: readonly PoolChanges[]): StoredState {
  const last = new Map<string, PoolProvider['provider']>();
  for (const { providers } of pieces)
    for (const { provider } of providers) last.set(provider.id, provider);
  const enrollments = pieces.flatMap((piece) => piece.enrollments);
  const documents = Object.fromEntries(pieces.flatMap((piece) => Object.entries(piece.documents)));
  return { providers: [...last.values()], enrollments, documents };
}
