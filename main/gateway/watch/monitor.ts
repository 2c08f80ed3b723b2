import { PROVIDER_PREFIX } from '#shared/ids.ts';
import type { AppInfo, ProvidersSummary } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http.ts';
import type { Log } from '../../platform/log.ts';
import type { StateFile } from '../../platform/state-file.ts';
import type { LocalChoice } from '../request/calls.ts';
import { createCircuits, type Circuits, type CircuitsDeps } from '../circuit/circuits.ts';
import { momentOf } from '../circuit/moment.ts';
import { createLatencies, type Latencies } from './latencies.ts';
import { createPredictions, type Predictions } from '../local/predictions.ts';
import { createLiveFeed, type LiveFeed } from './live.ts';
import { recall, remembered } from './memory.ts';
import type { Routed } from './attempt-log.ts';
import { createRequestLogs, type RequestLogs } from './request-log.ts';
import { createStats, type Stats } from './stats.ts';
import { statusReport, type ProvidersKnown } from './status.ts';
import { createWarmup, type WarmupRunner } from '../warmup/warmup.ts';

/** What is watched, and by what. */
export interface MonitorDeps {
  readonly config: () => Config;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
  readonly pickLocal: () => LocalChoice;
  readonly providers: () => ProvidersKnown;
  readonly summary: () => ProvidersSummary;
  readonly routed: Routed;
  /** Makes the file that keeps what `save` gives. */
  readonly keep: (save: () => unknown) => StateFile;
  readonly app: () => AppInfo;
  /** A circuit has opened, or its probe has failed. */
  readonly opened: CircuitsDeps['opened'];
}

/** What the gateway knows of its upstreams and requests, and who hears of it. */
export interface Monitor {
  readonly logs: RequestLogs;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
  readonly predictions: Predictions;
  readonly stats: Stats;
  readonly warmup: WarmupRunner;
  readonly feed: LiveFeed;
  readonly status: (forceZeroHeader: string) => StatusReport;
  /** Puts on disk what is not there yet. */
  readonly flush: () => Promise<void>;
}

/** Makes it, knowing what an earlier run kept. */
export function createMonitor(deps: MonitorDeps): Monitor {
  const { clock, config, http, log, pickLocal, app } = deps;
  const stats = createStats();
  const latencies = createLatencies(clock);
  const predictions = createPredictions(clock);
  const circuits = createCircuits({
    clock,
    random: deps.random,
    limits: () => config().circuit,
    changed() {
      state.changed();
      feed.changed();
    },
    opened: deps.opened,
  });
  const memorable = { stats, circuits, latencies, predictions };
  const state = deps.keep(() => remembered(memorable, config()));
  recall(state.load(), memorable, config());
  const warmup = createWarmup({ http, clock }, () => feed.changed());
  const logs = createRequestLogs(
    { clock, stats, circuits, latencies, predictions, log, routed: deps.routed },
    { changed: (id) => feed.requestChanged(id), removed: (id) => feed.requestRemoved(id) },
  );
  const status = (forceZeroHeader: string) =>
    statusReport({
      config: config(),
      stats: stats.view(),
      warmup: warmup.view(),
      local: pickLocal(),
      providers: deps.providers(),
      providerIds: [...circuits.ids()].filter((id) => id.startsWith(PROVIDER_PREFIX)),
      latencyAt: (id) => latencies.at(id),
      circuitAt: (id) => circuits.at(id),
      now: momentOf(clock),
      forceZeroHeader,
    });
  const feed = createLiveFeed({
    clock,
    status: () => status('0'),
    inFlight: () => stats.view().inFlight,
    rows: () => logs.rows(),
    providers: deps.summary,
    app,
  });
  return {
    logs,
    circuits,
    latencies,
    predictions,
    stats,
    warmup,
    feed,
    status,
    flush: () => state.flush(),
  };
}
