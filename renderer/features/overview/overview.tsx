import { useState } from 'react';
import { OUTCOMES, type RequestRow } from '#shared/live.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { useWindow } from '../../window-context.ts';
import { feedLabels } from '../requests/attempt-names.ts';
import { FirstRequest } from '../requests/first-request.tsx';
import { RequestList } from '../requests/request-list.tsx';
import { Legend } from '../requests/waterfall.tsx';
import { FirstRun } from '../setup/first-run.tsx';
import { Headline, type HeadlineText } from './headline.tsx';
import { Pool } from './pool.tsx';
import { Today } from './today.tsx';
import { isUnconfigured, type UpstreamList } from './upstream-list.ts';
import { UpstreamTrack } from './upstream-track.tsx';

interface OverviewProps {
  readonly list: UpstreamList;
  readonly headline: HeadlineText;
  /** True while details are open: the list behind them does not move. */
  readonly isHeld: boolean;
  readonly onSelect: (row: RequestRow) => void;
}

const SHOWN_ROWS = 8;

/** The summary, the upstreams and the latest requests. */
export function Overview({ list, headline, isHeld, onSelect }: OverviewProps) {
  const { data } = useWindow();
  const bare = isUnconfigured(list) && data.requests.length === 0;
  // The first-run card stays after the set-up, until the first request or until the page is left.
  const [wasUnconfigured, setWasUnconfigured] = useState(bare);
  if (bare && !wasUnconfigured) setWasUnconfigured(true);
  const leads = bare || (wasUnconfigured && data.requests.length === 0);
  return (
    <>
      <Headline headline={headline} list={list}>
        <Counters isFirstRun={leads} />
      </Headline>
      {leads && <FirstRun />}
      <UpstreamTrack list={list} />
      {data.status.pool !== undefined && <Pool pool={data.status.pool} />}
      {!leads && <Today />}
      {!leads && (
        <section className="panel" aria-labelledby="requests-title">
          <header className="panel-head">
            <h2 id="requests-title">{t.overview.latest}</h2>
            {data.requests.length > 0 && (
              <>
                <Legend />
                <a href={hashOf({ page: 'requests', filter: 'all' })}>{t.overview.all}</a>
              </>
            )}
          </header>
          {data.requests.length === 0 ? (
            <FirstRequest heading="h3" />
          ) : (
            <RequestList
              rows={data.requests}
              limit={SHOWN_ROWS}
              isHeld={isHeld}
              labels={feedLabels(data)}
              onSelect={onSelect}
            />
          )}
        </section>
      )}
    </>
  );
}

const labels = t.overview.counters;

/** The gateway's counters; each finished request is in one of the last three. None before the first request. */
function Counters({ isFirstRun }: { readonly isFirstRun: boolean }) {
  const { data } = useWindow();
  const { outcomes, status } = data;
  if (isFirstRun && status.stats.totalRequests === 0) return null;
  const { queued } = status.admission;
  const inFlight = data.requests.filter(({ state }) => state === 'running').length;
  return (
    <dl className="counters">
      <Counter label={labels.inFlight} value={formatCompact(inFlight)} />
      {queued > 0 && <Counter label={labels.waiting} value={formatCompact(queued)} />}
      <Counter label={labels.requests} value={formatCompact(status.stats.totalRequests)} />
      {outcomes !== null &&
        OUTCOMES.map((outcome) => (
          <Counter
            key={outcome}
            label={labels[outcome]}
            value={formatCompact(outcomes.ended[outcome])}
            hash={hashOf({ page: 'requests', filter: outcome })}
          />
        ))}
    </dl>
  );
}

interface CounterProps {
  readonly label: string;
  readonly value: string;
  /** Link to the list of the counted requests. */
  readonly hash?: string;
}

function Counter({ label, value, hash }: CounterProps) {
  return (
    <div>
      <dt>{hash === undefined ? label : <a href={hash}>{label}</a>}</dt>
      <dd>{value}</dd>
    </div>
  );
}
