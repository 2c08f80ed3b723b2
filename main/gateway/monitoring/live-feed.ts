import type {
  AppInfo,
  LiveDelta,
  LiveEvent,
  LiveSnapshot,
  ProvidersSummary,
  RequestRow,
} from '#shared/live.ts';
import type { OutcomeCounts } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Clock } from '../../platform/clock.ts';
import type { StatsView } from './counters.ts';

/** Sends changes to its subscribers, at most four times per second. */
export interface LiveFeed {
  snapshot(): LiveSnapshot;
  subscribe(listener: (event: LiveEvent) => void): () => void;
  /** False without subscribers: then changes need not be reported. */
  readonly isWatched: boolean;
  requestChanged(id: string): void;
  requestRemoved(id: string): void;
  /** For changes other than those of requests, such as a warm-up or a setting. */
  changed(): void;
}

export interface LiveSources {
  readonly clock: Clock;
  readonly status: () => StatusReport;
  readonly inFlight: () => StatsView['inFlight'];
  readonly sightings: () => LiveSnapshot['sightings'];
  readonly rows: () => readonly RequestRow[];
  readonly providers: () => ProvidersSummary;
  readonly outcomes: () => OutcomeCounts;
  readonly app: () => AppInfo;
  /** Called when the first subscriber has come, or the last has gone. */
  readonly watched: (isWatched: boolean) => void;
}

const INTERVAL_MS = 250;

export function createLiveFeed(sources: LiveSources): LiveFeed {
  const { clock, status, inFlight, sightings, rows, providers, outcomes, app, watched } = sources;
  const listeners = new Set<(event: LiveEvent) => void>();
  let changedIds = new Set<string>();
  let removedIds = new Set<string>();
  let scheduled = false;

  function schedule(): void {
    if (scheduled || listeners.size === 0) return;
    scheduled = true;
    clock.after(INTERVAL_MS, flush);
  }

  function flush(): void {
    scheduled = false;
    const delta: LiveDelta = {
      kind: 'delta',
      status: status(),
      inFlight: inFlight(),
      sightings: sightings(),
      upsert: rows().filter(({ id }) => changedIds.has(id)),
      remove: [...removedIds],
      providers: providers(),
      outcomes: outcomes(),
      app: app(),
    };
    changedIds = new Set();
    removedIds = new Set();
    for (const listener of listeners) listener(delta);
  }

  function setWatched(isWatched: boolean): void {
    feed.isWatched = isWatched;
    watched(isWatched);
  }

  const feed = {
    snapshot: (): LiveSnapshot => ({
      kind: 'snapshot',
      status: status(),
      inFlight: inFlight(),
      sightings: sightings(),
      requests: rows(),
      providers: providers(),
      outcomes: outcomes(),
      app: app(),
    }),
    isWatched: false,
    subscribe(listener: (event: LiveEvent) => void) {
      listeners.add(listener);
      if (listeners.size === 1) setWatched(true);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) setWatched(false);
      };
    },
    requestChanged(id: string) {
      if (listeners.size === 0) return;
      changedIds.add(id);
      schedule();
    },
    requestRemoved(id: string) {
      if (listeners.size === 0) return;
      removedIds.add(id);
      schedule();
    },
    changed: schedule,
  };
  return feed;
}
