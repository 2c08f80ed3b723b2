import { useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import { Counters } from './counters.tsx';
import { FirstRequest } from '../requests/first-request.tsx';
import { Headline } from './status-summary.tsx';
import { feedLabels } from '../requests/attempt-names.ts';
import { Legend } from '../requests/legend.tsx';
import { Line } from './upstream-track.tsx';
import { RequestList } from '../requests/request-list.tsx';
import { Pool } from './pool.tsx';
import { FirstRun } from '../setup/first-run.tsx';
import { Today } from './today.tsx';
import type { Agent } from '../../api/agent.ts';
import type { Control } from '../../api/control.ts';
import type { History } from '../../api/history.ts';
import type { LiveData } from '../../api/live-data.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { isUnconfigured, type Headline as HeadlineModel } from './status-summary-text.ts';
import type { Line as LineModel } from './upstream-list.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';

interface OverviewProps {
  readonly data: LiveData;
  readonly line: LineModel;
  readonly headline: HeadlineModel;
  readonly now: number;
  readonly control: boolean;
  readonly settings: SettingsState;
  readonly actions: Control;
  readonly agent: Agent;
  readonly history: History;
  /** True while details are open: the list behind them does not move. */
  readonly isHeld: boolean;
  readonly onSelect: (row: RequestRow) => void;
}

const SHOWN_ROWS = 8;

/** The summary, the upstreams and the latest requests. */
export function Overview(props: OverviewProps) {
  const { data, line, headline, now, control, settings, actions, agent, isHeld, onSelect } = props;
  const { totalRequests } = data.status.stats;
  const bare = isUnconfigured(line) && data.requests.length === 0;
  const localUrl = line.stations[0]?.report.baseUrl ?? null;
  const revision = data.providers?.revision ?? null;
  // The first-run card stays after the set-up, until the first request or until the page is left.
  const [wasUnconfigured, setWasUnconfigured] = useState(bare);
  if (bare && !wasUnconfigured) setWasUnconfigured(true);
  const leads = bare || (wasUnconfigured && data.requests.length === 0);
  return (
    <>
      <Headline headline={headline}>
        <Counters data={data} isFirstRun={leads} />
      </Headline>
      {leads && <FirstRun {...{ agent, revision, localUrl, control, actions }} />}
      <Line {...{ data, line, control, settings, actions, agent }} />
      {data.status.pool !== undefined && (
        <Pool pool={data.status.pool} machines={data.providers} now={now} />
      )}
      {!leads && <Today history={props.history} revision={totalRequests} />}
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
            <FirstRequest data={data} heading="h3" />
          ) : (
            <RequestList
              rows={data.requests}
              limit={SHOWN_ROWS}
              isHeld={isHeld}
              data={data}
              labels={feedLabels(data)}
              now={now}
              onSelect={onSelect}
            />
          )}
        </section>
      )}
    </>
  );
}
