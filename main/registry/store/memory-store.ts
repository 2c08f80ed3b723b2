import {
  type StoreChange,
  EVENTS_KEPT,
  type Store,
  type StoredEvent,
  type WriteResult,
} from './store.ts';

/**
 * A store without persistence, for when the database cannot be used: this machine's own agent and routing continue.
 * Enrolments are refused with `reason`, the database's error message, because a machine whose enrolment is acknowledged
 * and then forgotten would stay out unnoticed.
 */
export function createMemoryStore(reason: string): Store {
  const histories = new Map<string, StoredEvent[]>();

  function apply(change: StoreChange): void {
    if (change.kind === 'provider' && !histories.has(change.provider.id))
      histories.set(change.provider.id, []);
    if (change.kind === 'provider_removed') histories.delete(change.id);
    if (change.kind !== 'event') return;
    const history = histories.get(change.event.providerId);
    history?.unshift(change.event);
    history?.splice(EVENTS_KEPT);
  }

  return {
    write(changes) {
      if (changes.some(isOfEnrollment)) return answer({ kind: 'unwritten', message: reason });
      for (const change of changes) apply(change);
      return answer({ kind: 'written' });
    },
    events: (providerId, limit) =>
      Promise.resolve(histories.get(providerId)?.slice(0, Math.max(0, limit)) ?? []),
    close: () => Promise.resolve(),
  };
}

/** A token is created or used: other machines join with it. */
function isOfEnrollment({ kind }: StoreChange): boolean {
  return kind === 'enrollment' || kind === 'enrollment_removed';
}

const answer = (result: WriteResult) => Promise.resolve(result);
