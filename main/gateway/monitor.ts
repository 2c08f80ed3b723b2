import type { AppInfo } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http.ts';
import type { Log } from '../platform/log.ts';
import type { LocalChoice } from './calls.ts';
import { createLiveFeed, type LiveFeed } from './live.ts';
import { createRequestLogs, type RequestLogs } from './request-log.ts';
import { createStats } from './stats.ts';
import { statusReport } from './status.ts';
import { createWarmup, type WarmupRunner } from './warmup.ts';

/** What is watched, and by what. */
export interface MonitorDeps {
  readonly config: () => Config;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly pickLocal: () => LocalChoice;
  readonly app: () => AppInfo;
}

/** What the gateway knows of its upstreams and requests, and who hears of it. */
export interface Monitor {
  readonly logs: RequestLogs;
  readonly warmup: WarmupRunner;
  readonly feed: LiveFeed;
  readonly status: (forceZeroHeader: string) => StatusReport;
}

/** Makes it, knowing nothing yet. */
export function createMonitor(deps: MonitorDeps): Monitor {
  const { clock, config, http, log, pickLocal, app } = deps;
  const stats = createStats(clock);
  const warmup = createWarmup({ http, clock }, () => feed.changed());
  const logs = createRequestLogs(
    { clock, stats, log, slowAfterMs: () => config().circuit.ttftThresholdMs },
    { changed: (id) => feed.requestChanged(id), removed: (id) => feed.requestRemoved(id) },
  );
  const status = (forceZeroHeader: string) =>
    statusReport({
      config: config(),
      stats: stats.view(),
      warmup: warmup.view(),
      local: pickLocal(),
      nowMs: clock.now(),
      forceZeroHeader,
    });
  const feed = createLiveFeed({
    clock,
    status: () => status('0'),
    inFlight: () => stats.view().inFlight,
    rows: () => logs.rows(),
    app,
  });
  return { logs, warmup, feed, status };
}
