import { z } from 'zod';
import type { RequestRow } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import { FACETS, REQUEST_FILTERS, type RequestQuery } from '#shared/request-filter.ts';
import { HISTORY_RANGES, type HistoryReport, type UsageHistory } from '#shared/usage.ts';
import { oneOf, readQuery, wholeNumber } from '../../platform/http/query.ts';
import { answered, route, type Route } from '../../platform/http/routes.ts';
import { type Identify, type Identity, isGuest } from '../auth/keys.ts';
import { notFound } from '../http/errors.ts';
import { EXPOSITION_TYPE } from '../monitoring/exposition.ts';
import { type MetricsDeps, metricsOf } from '../monitoring/metrics.ts';
import { rowWithoutWords } from '../usage/queries.ts';

interface ReportDeps extends MetricsDeps {
  /** The display name of a machine; null if the machine is unknown. */
  readonly nameOf: (id: string) => string | null;
  readonly identify: Identify;
}

/** How the gateway does and what it has done. */
export function reportRoutes(deps: ReportDeps): readonly Route[] {
  const { nameOf, identify } = deps;
  const { status, usage, logs } = deps.monitor;
  return [
    route('GET', '/api/v1/status', 'callers', ({ headers }) =>
      answered(status(String(headers['x-gateway-force-zero'] ?? '0'), 'known')),
    ),
    route('GET', '/api/v1/history', 'callers', async ({ query }) => {
      const wanted = readQuery(query, historySchema);
      if (wanted.kind === 'refused') return wanted;
      return answered(withNames(await usage.history(wanted.value.range), nameOf));
    }),
    route('GET', '/api/v1/requests', 'callers', async ({ query, headers }) => {
      const wanted = readQuery(query, requestsSchema);
      if (wanted.kind === 'refused') return wanted;
      const page = await logs.page(wanted.value);
      const shown = rowFor(identify(headers));
      return answered({ ...page, data: page.data.map(shown) });
    }),
    route('GET', '/api/v1/requests/:id', 'callers', async ({ params: { id = '' }, headers }) => {
      const row = await logs.one(id);
      return row === null ? noRequest(id) : answered(rowFor(identify(headers))(row));
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

const rowFor = (identity: Identity) => (row: RequestRow) =>
  isGuest(identity) ? rowWithoutWords(row) : row;

function withNames(history: UsageHistory, nameOf: ReportDeps['nameOf']): HistoryReport {
  const ids = history.parts.flatMap(({ provider }) => provider ?? []);
  return { ...history, names: namesNow(ids, nameOf) };
}

const historySchema = z.object({ range: oneOf(HISTORY_RANGES).default('day') });

const text = z.string('one text').optional();
const NARROWINGS = [...FACETS, 'text'] as const;
const narrowings = Object.fromEntries(NARROWINGS.map((name) => [name, text])) as Record<
  (typeof NARROWINGS)[number],
  typeof text
>;

const requestsSchema = z
  .object({
    outcome: oneOf(REQUEST_FILTERS).default('all'),
    ...narrowings,
    before: wholeNumber(0, 8.64e15, 'a time in whole milliseconds').nullable().default(null),
    limit: wholeNumber(1, 500).default(100),
  })
  .transform(({ outcome: filter, before, limit, ...given }): RequestQuery => {
    const by = Object.entries(given).filter(([, value]) => value !== '');
    return { filter, by: Object.fromEntries(by), before, limit };
  });

const noRequest = (id: string) =>
  notFound(`There is no request "${id.slice(0, 100)}", or it is no longer stored.`);
