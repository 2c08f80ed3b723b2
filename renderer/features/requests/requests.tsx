import { useEffect, useMemo, useRef } from 'react';
import { type Outcome, OUTCOMES, type RequestRow } from '#shared/live.ts';
import { machinesIn } from '#shared/machine-names.ts';
import {
  countsOf,
  type Facet,
  FACETS,
  facetsOf,
  type FacetValues,
  KEPT_PER_OUTCOME,
  matchesFilter,
  type Narrowing,
  REQUEST_FILTERS,
  type RequestFilter,
} from '#shared/request-filter.ts';
import { hashOf } from '../../route.ts';
import { COLLATOR, counted, formatCount } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { Filters, Select } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { filterWords, type Labels, labelsOf, machineName } from './request-text.ts';
import { allCounts, allFacets, together, useKeptRequests } from './kept-requests.ts';
import { ToFirstPrompt } from '../setup/first-run.tsx';
import { type OpenDetails, OpenRequest } from './open-request.tsx';
import { RequestList } from './request-list.tsx';
import { Legend } from './waterfall.tsx';

interface RequestsProps {
  readonly filter: RequestFilter;
  readonly by?: Narrowing | undefined;
  /** While details are open, the list behind them does not move. */
  readonly details: OpenDetails;
  readonly onSelect: (row: RequestRow) => void;
}

const NO_NARROWING: Narrowing = {};

export function Requests({ filter, by = NO_NARROWING, details, onSelect }: RequestsProps) {
  const { data, requests } = useWindow();
  const feed = data.requests;
  const { totalRequests: revision } = data.status.stats;
  const { kept, readOlder } = useKeptRequests(requests, { filter, by, feed, revision });
  const rows = useMemo(() => {
    const live = feed.filter((row) => matchesFilter(row, filter, by));
    return together(live, kept.rows);
  }, [feed, kept.rows, filter, by]);
  const labels = labelsOf(data.status.upstreams, { ...machinesIn(feed), ...kept.machines });
  const name = hashOf({ page: 'requests', filter, by });
  const { ended } = data.outcomes;
  const words = filterWords(data.outcomes);
  return (
    <>
      <div className="row page-head">
        <h1>Requests</h1>
        {feed.length > 0 && (
          <>
            <Filters
              label="Which requests"
              choices={REQUEST_FILTERS}
              chosen={filter}
              words={words}
              counts={allCounts(countsOf(feed, by), kept)}
              hash={(choice) => hashOf({ page: 'requests', filter: choice, by })}
            />
            {OUTCOMES.some((each) => ended[each] > KEPT_PER_OUTCOME) && (
              <span className="quiet">{`of the last ${KEPT} each`}</span>
            )}
            <RequestNarrowing
              facets={allFacets(facetsOf(feed, filter, by), kept)}
              labels={labels}
              by={by}
              onChange={(next) => location.replace(hashOf({ page: 'requests', filter, by: next }))}
            />
          </>
        )}
      </div>
      <section className="panel" aria-label={`Requests, ${words[filter].toLowerCase()}`}>
        {rows.length > 0 && (
          <header className="panel-head">
            <Legend />
          </header>
        )}
        {feed.length === 0 && (
          <div className="empty">
            <h2>No requests yet</h2>
            <p>
              Each request of an app that uses the base URL above appears here. <ToFirstPrompt />
            </p>
          </div>
        )}
        {feed.length > 0 && rows.length === 0 && (
          <div className="empty">
            <h2>No matching requests</h2>
            <p>
              {noneText(filter, by, ended)}{' '}
              <a href={hashOf({ page: 'requests', filter: 'all' })}>Show all</a>
            </p>
          </div>
        )}
        {rows.length > 0 && (
          <RequestList
            {...{ rows, name, labels, onSelect }}
            isHeld={details.id !== null}
            onEnd={readOlder}
          />
        )}
        {rows.length > 0 && kept.isComplete && (
          <p className="panel-text quiet">
            {`Inglenook keeps the last ${KEPT} requests that were answered directly, by a fallback, not at all, or cancelled, without their prompts and answers.`}
          </p>
        )}
      </section>
      <OpenRequest {...{ labels, details, rows }} onEnd={readOlder} />
    </>
  );
}

const KEPT = formatCount(KEPT_PER_OUTCOME);

/** Never contradicts the counters: what they count may be too old to be kept. */
function noneText(
  filter: RequestFilter,
  by: Narrowing,
  ended: Readonly<Record<Outcome, number>>,
): string {
  if (filter === 'all' || Object.keys(by).length > 0) return 'No request on record matches.';
  const count = ended[filter];
  return count === 0
    ? t.requests.none[filter]
    : `None is on record any more: ${counted(count, EARLIER)} too old to be shown.`;
}

const EARLIER = { one: 'is', other: 'are' };

interface RequestNarrowingProps {
  readonly facets: FacetValues;
  readonly labels: Labels;
  readonly by: Narrowing;
  readonly onChange: (by: Narrowing) => void;
}

function RequestNarrowing({ facets, labels, by, onChange }: RequestNarrowingProps) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The address can change without the field, as with the Back button.
    if (search.current && search.current.value !== (by.text ?? '')) {
      search.current.value = by.text ?? '';
    }
  }, [by.text]);
  const wordOf = (facet: Facet, value: string) => {
    if (facet === 'upstream') return labels.get(value) ?? value;
    if (facet === 'machine') return machineName(value, labels);
    return facet === 'reason' ? reasonText(value) : value;
  };
  return (
    <search className="narrowing">
      <input
        ref={search}
        type="search"
        defaultValue={by.text ?? ''}
        placeholder="Id, model, app, error"
        aria-label="Search requests"
        onChange={({ target }) => onChange(changed(by, 'text', target.value))}
      />
      {FACETS.map((facet) => {
        const values = facets[facet];
        const chosen = by[facet] ?? '';
        if (chosen === '' && values.length < 2) return null;
        return (
          <Select
            key={facet}
            aria-label={t.requests.facets[facet].label}
            value={chosen}
            options={[
              ['', t.requests.facets[facet].all],
              ...[...new Set([...values, chosen].filter(Boolean))]
                .map((value) => [value, wordOf(facet, value)] as const)
                .toSorted(([, a], [, b]) => COLLATOR.compare(a, b)),
            ]}
            onChoose={(value) => onChange(changed(by, facet, value))}
          />
        );
      })}
    </search>
  );
}

function changed(by: Narrowing, part: Facet | 'text', value: string): Narrowing {
  const { [part]: _, ...rest } = by;
  return value === '' ? rest : { ...rest, [part]: value };
}
