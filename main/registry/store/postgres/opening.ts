import type { Clock } from '../../../platform/clock.ts';
import type { StoreOpening } from '../protocol.ts';
import type { StoredState } from '../store.ts';
import type { PoolChanges } from './protocol.ts';
import type { PoolTimes } from './times.ts';

/** Collects what is read before the registry exists. */
export interface PoolOpening {
  isOver(): boolean;
  add(changes: PoolChanges): void;
  /** The registry starts with what was read. */
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
  const providers = new Map<string, StoredState['providers'][number]>();
  const enrollments = new Map<string, StoredState['enrollments'][number]>();
  const documents = new Map<string, string>();
  for (const piece of pieces) {
    const there = piece.all === null ? null : new Set(piece.all.ids);
    for (const known of [providers, enrollments])
      for (const id of known.keys()) if (there?.has(id) === false) known.delete(id);
    for (const { kind, id } of piece.removed) {
      if (kind === 'provider') providers.delete(id);
      if (kind === 'enrollment') enrollments.delete(id);
      if (kind === 'document') documents.delete(id);
    }
    for (const { provider } of piece.providers) providers.set(provider.id, provider);
    for (const enrollment of piece.enrollments) enrollments.set(enrollment.digest, enrollment);
    for (const [name, json] of Object.entries(piece.documents)) documents.set(name, json);
  }
  return {
    providers: [...providers.values()],
    enrollments: [...enrollments.values()],
    documents: Object.fromEntries(documents),
  };
}
