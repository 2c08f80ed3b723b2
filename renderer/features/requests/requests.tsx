import type { RequestRow } from '#shared/live.ts';
import { FirstRequest } from './first-request.tsx';
import { labelsOf } from './attempt-names.ts';
import { Legend } from './legend.tsx';
import { RequestList } from './request-list.tsx';
import { RequestNarrowing } from './request-narrowing.tsx';
import type { LiveData } from '../../api/live-data.ts';
import { formatCount } from '../../text/format.ts';
import {
  matchesFilter,
  type Narrowing,
  REQUEST_FILTERS,
  type RequestFilter,
} from './request-filter.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';

interface RequestsProps {
  readonly data: LiveData;
  readonly now: number;
  readonly filter: RequestFilter;
  readonly by?: Narrowing | undefined;
  /** While details are open the list behind them stands still. */
  readonly isHeld: boolean;
  readonly onSelect: (row: RequestRow) => void;
}

/** Every request that the gateway still remembers. */
export function Requests({ data, now, filter, by = {}, isHeld, onSelect }: RequestsProps) {
  const { requests } = data;
  const rows = requests.filter((row) => matchesFilter(row, filter, by));
  const name = hashOf({ page: 'requests', filter, by });
  return (
    <>
      <div className="requests-head">
        <h1>{t.requests.title}</h1>
        <FilterLinks requests={requests} filter={filter} by={by} />
        {requests.length > 0 && (
          <RequestNarrowing
            rows={requests}
            labels={labelsOf(data.status.upstreams)}
            by={by}
            onChange={(next) => location.replace(hashOf({ page: 'requests', filter, by: next }))}
          />
        )}
      </div>
      <section className="panel" aria-label={t.requests.label(t.requests.filters[filter])}>
        {rows.length > 0 && (
          <header className="panel-head">
            <Legend />
          </header>
        )}
        {requests.length === 0 && <FirstRequest data={data} heading="h2" />}
        {requests.length > 0 && rows.length === 0 && (
          <div className="empty">
            <h2>{t.requests.nothing(requests.length)}</h2>
            <p>
              {Object.keys(by).length > 0 ? t.requests.none.all : t.requests.none[filter]}{' '}
              <a href={hashOf({ page: 'requests', filter: 'all' })}>{t.requests.showAll}</a>
            </p>
          </div>
        )}
        {rows.length > 0 && <RequestList {...{ rows, name, isHeld, data, now, onSelect }} />}
      </section>
    </>
  );
}

function FilterLinks({
  requests,
  filter,
  by,
}: Pick<RequestsProps, 'filter'> & Pick<LiveData, 'requests'> & { readonly by: Narrowing }) {
  return (
    <nav className="filters" aria-label={t.requests.which}>
      {REQUEST_FILTERS.map((choice) => (
        <a
          key={choice}
          href={hashOf({ page: 'requests', filter: choice, by })}
          aria-current={choice === filter ? 'true' : undefined}
        >
          {t.requests.filters[choice]}{' '}
          <span className="filter-count">
            {formatCount(requests.filter((row) => matchesFilter(row, choice, by)).length)}
          </span>
        </a>
      ))}
    </nav>
  );
}
