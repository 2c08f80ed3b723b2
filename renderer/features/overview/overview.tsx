import { useState, useCallback } from 'react';
import { OUTCOMES, type RequestRow } from '#shared/live.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { useWindow } from '../../window-context.ts';
import { feedLabels, filterWords } from '../requests/request-text.ts';
import { FirstRequest } from '../requests/first-request.tsx';
import { RequestList } from '../requests/request-list.tsx';
import { Legend } from '../requests/waterfall.tsx';
import { FirstRun } from '../setup/first-run.tsx';
import { Headline, type HeadlineText } from './headline.tsx';
import { isUnconfigured, type UpstreamList } from './upstream-list.ts';
import { TryIt } from './try-it.tsx';
import { UpstreamTrack } from './upstream-track.tsx';
import type { HistoryReport, UsageFigures } from '#shared/usage.ts';
import { Fact } from '../../ui/facts.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { BarGraph } from '../history/plot.tsx';
import { barsOf, moneyText, netSavedNano } from '../history/history-model.ts';

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
  const bare = isUnconfigured(list) && data.requests.length === 0;
  // The first-run card stays after the set-up, until the first request or until the page is left.
  const [wasUnconfigured, setWasUnconfigured] = useState(bare);
  if (bare && !wasUnconfigured) setWasUnconfigured(true);
  const problem = data.status.pool?.problem ?? null;
  const leads = bare || (wasUnconfigured && data.requests.length === 0);
  return (
    <>
      <Headline headline={headline} list={list}>
        <Counters isFirstRun={leads} />
      </Headline>
      {problem !== null && (
        <p className="notice">
          {problem} Machines cannot join now, and what other gateways learn is not known here.
        </p>
      )}
      {leads && <FirstRun />}
      <UpstreamTrack list={list} />
      {!bare && <TryIt isAimedAt={isTrying} />}
      {!leads && <Today />}
      {!leads && (
        <section className="panel" aria-labelledby="requests-title">
          <header className="panel-head">
            <h2 id="requests-title">Latest requests</h2>
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

/** The gateway's counters; each finished request is in one of the last three. None before the first request. */
function Counters({ isFirstRun }: { readonly isFirstRun: boolean }) {
  const { data } = useWindow();
  const { outcomes, status } = data;
  if (isFirstRun && status.stats.totalRequests === 0) return null;
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

const LONGEST_MS = 30_000;

/** Today's sums; renders nothing if no history is kept. */
function Today() {
  const { readHistory, data } = useWindow();
  const read = useCallback(() => readHistory('day'), [readHistory]);
  const { value: report } = useReading(read, data.status.stats.totalRequests, null, {
    longestMs: LONGEST_MS,
  });
  if (report === null || report.problem !== null || report.thisMonth.calls === 0) return null;
  return (
    <section className="panel" aria-labelledby="today-title">
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
  const money = (value: number) => moneyText(value, currency);
  return [
    ['Requests', ({ calls }) => calls, formatCompact],
    ['Tokens', ({ inputTokens, outputTokens }) => inputTokens + outputTokens, formatCompact],
    ...(thisMonth.spentNano + thisMonth.savedNano === 0
      ? []
      : ([
          ['Spent', ({ spentNano }) => spentNano, money],
          ['Saved by Local', netSavedNano, money],
        ] as const satisfies readonly Tile[])),
  ];
}
