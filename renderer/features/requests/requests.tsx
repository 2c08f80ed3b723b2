import type { RequestRow } from '#shared/live.ts';
import { FirstRequest } from './first-request.tsx';
import { Legend } from './legend.tsx';
import { RequestList } from './request-list.tsx';
import type { LiveData } from '../../api/live-data.ts';
import { formatCount } from '../../text/format.ts';
import {
  FILTER_LABELS,
  matchesFilter,
  REQUEST_FILTERS,
  type RequestFilter,
} from './request-filter.ts';
import { hashOf } from '../../route.ts';

interface RequestsProps {
  readonly data: LiveData;
  readonly now: number;
  readonly filter: RequestFilter;
  readonly onSelect: (row: RequestRow) => void;
}

/** Every request that the gateway still remembers. */
export function Requests({ data, now, filter, onSelect }: RequestsProps) {
  const { requests } = data;
  const rows = requests.filter((row) => matchesFilter(row, filter));
  return (
    <>
      <div className="requests-head">
        <h1>Requests</h1>
        <FilterLinks requests={requests} filter={filter} />
      </div>
      <section className="panel" aria-label={`Requests, ${FILTER_LABELS[filter].toLowerCase()}`}>
        {rows.length > 0 && (
          <header className="panel-head">
            <Legend />
          </header>
        )}
        {requests.length === 0 && <FirstRequest data={data} />}
        {requests.length > 0 && rows.length === 0 && (
          <div className="empty">
            <h3>None of the last {formatCount(requests.length)} requests</h3>
            <p>
              {filter === 'failed' ? 'None of them failed.' : 'None of them needed a fallback.'}{' '}
              <a href={hashOf({ page: 'requests', filter: 'all' })}>Show all</a>
            </p>
          </div>
        )}
        {rows.length > 0 && <RequestList {...{ rows, data, now, onSelect }} />}
      </section>
    </>
  );
}

function FilterLinks({
  requests,
  filter,
}: Pick<RequestsProps, 'filter'> & Pick<LiveData, 'requests'>) {
  return (
    <nav className="filters" aria-label="Which requests">
      {REQUEST_FILTERS.map((choice) => (
        <a
          key={choice}
          href={hashOf({ page: 'requests', filter: choice })}
          aria-current={choice === filter ? 'true' : undefined}
        >
          {FILTER_LABELS[choice]}{' '}
          <span className="filter-count">
            {formatCount(requests.filter((row) => matchesFilter(row, choice)).length)}
          </span>
        </a>
      ))}
    </nav>
  );
}
