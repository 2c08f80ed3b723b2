import { namesNow } from '#shared/machine-names.ts';
import { FACETS, REQUEST_FILTERS, type RequestQuery } from '#shared/request-filter.ts';
import { HISTORY_RANGES, type HistoryReport, type UsageHistory } from '#shared/usage.ts';
import { answered, route, type Route, type RouteRequest } from '../../platform/http/routes.ts';
import { type GatewayError, invalidParam, notFound, refused } from '../http/errors.ts';
import { EXPOSITION_TYPE } from '../monitoring/exposition.ts';
import { type MetricsDeps, metricsOf } from '../monitoring/metrics.ts';

interface ReportDeps extends MetricsDeps {
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
}

/** How the gateway does and what it has done. */
export function reportRoutes(deps: ReportDeps): readonly Route[] {
  const { nameOf } = deps;
  const { status, usage, requests } = deps.monitor;
  return [
    route('GET', '/api/v1/status', 'callers', ({ headers }) =>
      answered(status(String(headers['x-gateway-force-zero'] ?? '0'), 'known')),
    ),
    route('GET', '/api/v1/history', 'callers', async ({ query: { range = 'day' } }) => {
      const known = HISTORY_RANGES.find((each) => each === range);
      if (known === undefined)
        return refused(invalidParam('range', `must be one of ${HISTORY_RANGES.join(', ')}`));
      return answered(withNames(await usage.history(known), nameOf));
    }),
    route('GET', '/api/v1/requests', 'callers', async ({ query }) => {
      const wanted = wantedOf(query);
      return 'code' in wanted ? refused(wanted) : answered(await requests.page(wanted));
    }),
    route('GET', '/api/v1/requests/:id', 'callers', async ({ params: { id = '' } }) => {
      const row = await requests.one(id);
      return row === null ? noRequest(id) : answered(row);
    }),
    route('GET', '/metrics', 'callers', () => {
      return { kind: 'file', type: EXPOSITION_TYPE, body: Buffer.from(metricsOf(deps)) };
    }),
    route('GET', '/healthz', 'anyone', () => answered({ status: 'ok' })),
    route('GET', '/readyz', 'anyone', () => {
      const { ok } = status('0');
      return answered({ status: ok ? 'ready' : 'no upstream can serve now' }, ok ? 200 : 503);
    }),
  ];
}

function withNames(history: UsageHistory, nameOf: ReportDeps['nameOf']): HistoryReport {
  const ids = history.parts.flatMap(({ provider }) => provider ?? []);
  return { ...history, names: namesNow(ids, nameOf) };
}

type Query = RouteRequest['query'];

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
const NARROWINGS = [...FACETS, 'text'] as const;

/** An error names the first bad parameter. */
function wantedOf(query: Query): RequestQuery | GatewayError {
  const { outcome = 'all' } = query;
  const filter = REQUEST_FILTERS.find((name) => name === outcome);
  if (filter === undefined)
    return invalidParam('outcome', `must be one of ${REQUEST_FILTERS.join(', ')}`);
  const repeated = NARROWINGS.find((name) => typeof (query[name] ?? '') !== 'string');
  if (repeated !== undefined) return invalidParam(repeated, 'must be given only once');
  const before = wholeNumber(query['before']);
  if (Number.isNaN(before)) return invalidParam('before', 'must be a time in whole milliseconds');
  const limit = wholeNumber(query['limit']) ?? DEFAULT_LIMIT;
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return invalidParam('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  const by = NARROWINGS.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  return { filter, by: Object.fromEntries(by) as RequestQuery['by'], before, limit };
}

/** Null if the parameter is missing, NaN if it is not a whole number. */
function wholeNumber(given: Query[string]): number | null {
  if (given === undefined) return null;
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : NaN;
}

const noRequest = (id: string) =>
  notFound(`There is no request "${id.slice(0, 100)}", or it is no longer stored.`);
