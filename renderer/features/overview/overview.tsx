import { useCallback } from 'react';
import { OUTCOMES, type RequestRow } from '#shared/live.ts';
import { hashOf } from '../../route.ts';
import { counted, formatCompact, formatMoment, formatMoney } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { useWindow } from '../../window-context.ts';
import { feedLabels, filterWords } from '../requests/request-text.ts';
import { RequestList } from '../requests/request-list.tsx';
import { Legend } from '../requests/waterfall.tsx';
import { FirstRun, hasAnsweredApp } from '../setup/first-run.tsx';
import { Headline } from './headline.tsx';
import type { HeadlineText } from './headline-text.ts';
import { isUnconfigured, type UpstreamList } from './upstream-list.ts';
import { Moves } from './moves.tsx';
import { SmallWindows } from '../models/windows.tsx';
import { TryIt } from './try-it.tsx';
import { freeSeats } from '../setup/setup-dialog.tsx';
import { UpstreamTrack } from './upstream-track.tsx';
import type { HistoryReport, UsageFigures } from '#shared/usage.ts';
import { Fact } from '../../ui/facts.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { BarGraph } from '../history/plot.tsx';
import { barsOf, endedIn, netSavedNano } from '../history/history-model.ts';

interface OverviewProps {
  readonly list: UpstreamList;
  readonly headline: HeadlineText;
  readonly isTrying: boolean;
  /** True while details are open: the list behind them does not move. */
  readonly isHeld: boolean;
  readonly onSelect: (row: RequestRow) => void;
}

const SHOWN_ROWS = 8;

export function Overview({ list, headline, isTrying, isHeld, onSelect }: OverviewProps) {
  const { data } = useWindow();
  const bare = isUnconfigured(list);
  const problem = data.status.pool?.problem ?? null;
  const isNew = data.requests.length === 0;
  const leads = bare || (data.app.demo === undefined && !hasAnsweredApp(data));
  return (
    <>
      <Headline headline={headline} list={list}>
        {!isNew && <Counters />}
      </Headline>
      {problem !== null && (
        <p className="notice">
          {problem} Machines cannot join now, and what other gateways learn is not known here.
        </p>
      )}
      <Moves />
      <KeyRefusals />
      <SmallWindows />
      {leads && <FirstRun seats={freeSeats(data.judgement)} />}
      {!bare && <UpstreamTrack list={list} />}
      {!bare && <TryIt isAimedAt={isTrying} />}
      {!leads && <Today />}
      {!isNew && (
        <section className="panel roomy" aria-labelledby="requests-title">
          <header className="panel-head">
            <h2 id="requests-title">Latest requests</h2>
            <Legend />
            <a href={hashOf({ page: 'requests', filter: 'all' })}>{t.overview.all}</a>
          </header>
          <RequestList
            rows={data.requests}
            limit={SHOWN_ROWS}
            isHeld={isHeld}
            labels={feedLabels(data)}
            onSelect={onSelect}
          />
        </section>
      )}
    </>
  );
}

function KeyRefusals() {
  const { data, now } = useWindow();
  const { keyRefusals, skewMs } = data;
  if (keyRefusals === null) return null;
  const { count, lastAt, lastAddress } = keyRefusals;
  const from = lastAddress === null ? '' : `, from ${lastAddress}`;
  return (
    <p className="notice">
      <strong>{`${counted(count, REFUSED)} in the last hour: wrong or missing key.`}</strong>{' '}
      {`The last at ${formatMoment(lastAt, now + skewMs)}${from}. `}
      <a href={hashOf({ page: 'settings', section: 'keys' })}>Keys for apps</a>
    </p>
  );
}

const REFUSED = { one: 'request was refused', other: 'requests were refused' };

/** The gateway's counters; each finished request is in one of the last three. */
function Counters() {
  const { data } = useWindow();
  const { outcomes, status } = data;
  const words = filterWords(outcomes);
  const inFlight = data.requests.filter(({ state }) => state === 'running').length;
  return (
    <dl className="counters">
      <Fact label="Running" value={formatCompact(inFlight)} />
      <Fact label="Requests" value={formatCompact(status.stats.totalRequests)} />
      {OUTCOMES.map((outcome) => (
        <Fact
          key={outcome}
          label={<a href={hashOf({ page: 'requests', filter: outcome })}>{words[outcome]}</a>}
          value={formatCompact(outcomes.ended[outcome])}
        />
      ))}
    </dl>
  );
}

type Tile = readonly [
  label: string,
  of: (figures: UsageFigures) => number,
  text: (value: number) => string,
];

/** Today's sums; renders nothing if no history is kept. */
function Today() {
  const { readHistory, data } = useWindow();
  const read = useCallback(() => readHistory('day'), [readHistory]);
  const { value: report } = useReading(read, endedIn(data.outcomes), null);
  if (report === null || report.problem !== null || report.thisMonth.calls === 0) return null;
  return (
    <section className="panel roomy" aria-labelledby="today-title">
      <header className="panel-head">
        <h2 id="today-title">Today</h2>
        <a href={hashOf({ page: 'history', range: 'day' })}>History</a>
      </header>
      <dl className="sums">
        {tilesOf(report).map(([label, of, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text(of(report.today))}</dd>
            {/* The last 24 hours; the History view has the figures. */}
            <BarGraph className="sparkline" bars={barsOf(report, of)} />
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The tiles; money only if an upstream has a price. */
function tilesOf({ currency, thisMonth }: HistoryReport): readonly Tile[] {
  const money = (value: number) => formatMoney(value, currency);
  return [
    ['Requests', ({ calls }) => calls, formatCompact],
    ['Tokens', ({ inputTokens, outputTokens }) => inputTokens + outputTokens, formatCompact],
    ...(thisMonth.spentNano + thisMonth.savedNano === 0
      ? []
      : ([
          ['Spent', ({ spentNano }) => spentNano, money],
          ['Saved by your GPUs', netSavedNano, money],
        ] as const satisfies readonly Tile[])),
  ];
}
