import { type Judgement, nextEndMs } from '#shared/condition.ts';
import type { LiveDelta, LiveEvent, LiveSnapshot, RequestRow } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';

/** Sends changes to its subscribers, at most four times per second. */
export type LiveFeed = ReturnType<typeof createLiveFeed>;

export interface LiveSources {
  readonly clock: Clock;
  /** All that a snapshot has except the requests. */
  readonly current: () => Omit<LiveSnapshot, 'kind' | 'requests'>;
  readonly rows: () => readonly RequestRow[];
  /** Called when the first subscriber has come, or the last has gone. */
  readonly watched: (isWatched: boolean) => void;
}

const INTERVAL_MS = 250;

/** Timers hold at most 2^31 - 1 ms, and an exclusion may last until the next month. */
const LONGEST_WAIT_MS = 3_600_000;

export function createLiveFeed({ clock, current, rows, watched }: LiveSources) {
  const listeners = new Set<(event: LiveEvent) => void>();
  let changedIds = new Set<string>();
  let scheduled = false;
  let cancelWait = (): void => undefined;

  function schedule(): void {
    if (scheduled || listeners.size === 0) return;
    scheduled = true;
    clock.after(INTERVAL_MS, flush);
  }

  function flush(): void {
    scheduled = false;
    const shown = rows();
    const delta: LiveDelta = {
      kind: 'delta',
      ...current(),
      upsert: shown.filter(({ id }) => changedIds.has(id)),
      remove: [...changedIds].filter((id) => !shown.some((row) => row.id === id)),
    };
    changedIds = new Set();
    if (delta.judgement) waitFrom(delta.judgement);
    for (const listener of listeners) listener(delta);
  }

  /** Reports again once a cool-down or an exclusion is over: time alone may change who serves next. */
  function waitFrom(judgement: Judgement): void {
    cancelWait();
    const waitMs = nextEndMs(judgement);
    if (waitMs === null || listeners.size === 0) return;
    cancelWait = clock.after(Math.min(waitMs, LONGEST_WAIT_MS), schedule);
  }

  return {
    snapshot: (): LiveSnapshot => ({ kind: 'snapshot', ...current(), requests: rows() }),
    subscribe(listener: (event: LiveEvent) => void): () => void {
      listeners.add(listener);
      if (listeners.size === 1) {
        watched(true);
        waitFrom(current().judgement);
      }
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        cancelWait();
        watched(false);
      };
    },
    /** Its row has changed, or is no longer among the rows. */
    requestChanged(id: string) {
      if (listeners.size === 0) return;
      changedIds.add(id);
      schedule();
    },
    /** For changes other than those of requests, such as a warm-up or a setting. */
    changed: schedule,
  };
}
