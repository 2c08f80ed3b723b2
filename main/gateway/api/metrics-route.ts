import type { ProvidersSummary } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import { processUsage } from '../../platform/process.ts';
import { sendBody } from '../http/responses.ts';
import type { Stats } from '../monitoring/counters.ts';
import { exposition, EXPOSITION_TYPE, metricsOf } from '../monitoring/metrics.ts';
import type { Route } from './routes.ts';

/** What the metrics show. */
export interface MetricsDeps {
  readonly status: (forceZeroHeader: string) => StatusReport;
  readonly stats: Stats;
  readonly summary: () => ProvidersSummary;
  readonly app: () => { readonly version: string };
}

/**
 * `GET /metrics`. The event loop's lag is left out: its histogram wakes an idle process a hundred
 * times a second.
 */
export function metricsRoute({ status, stats, summary, app }: MetricsDeps): Route {
  return {
    method: 'GET',
    paths: ['/metrics'],
    who: 'readers',
    handle(_req, res) {
      const families = metricsOf({
        version: app().version,
        status: status('0'),
        stats: stats.view(),
        providers: summary(),
        process: processUsage(),
      });
      const body = Buffer.from(exposition(families));
      sendBody(res, 200, body, { 'content-type': EXPOSITION_TYPE });
    },
  };
}
