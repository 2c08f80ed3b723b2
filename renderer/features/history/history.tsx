import { useCallback, useRef, useState } from 'react';
import {
  HISTORY_RANGES,
  type HistoryRange,
  type HistoryReport,
  type UsageFigures,
} from '#shared/usage.ts';
import { firstTokenMsOfRequest } from '#shared/live.ts';
import type { RequestFilter } from '#shared/request-filter.ts';
import { hashOf, TRY_IT } from '../../route.ts';
import { formatCompact, formatCount, formatDuration } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Fact, type FactText, Unreadable } from '../../ui/facts.tsx';
import { Filters } from '../../ui/fields.tsx';
import { useInUse } from '../../ui/use-in-use.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import {
  barsUpTo,
  bestRange,
  firstTokenMs,
  type Measure,
  MEASURES,
  moneyText,
  niceMax,
  peakOf,
  percentiles,
  rateText,
  type Stack,
  stepText,
  tokensPerSecond,
  kwhOf,
  netSavedNano,
  valuesOf,
} from './history-model.ts';
import { Plot } from './plot.tsx';
import { machineNames, machineSeries, SeriesCharts, upstreamSeries } from './series-charts.tsx';
import { StackedChart } from './stacked-chart.tsx';

const words = t.history;

const READING_OPTIONS = { longestMs: 10_000 };

/** The report of a range, read again with each request; without a range, of the one that shows most. */
function useReport(asked: HistoryRange | null) {
  const { readHistory, data } = useWindow();
  const [best, setBest] = useState<HistoryRange | null>(null);
  const range = asked ?? best ?? 'day';
  const read = useCallback(() => readHistory(range), [readHistory, range]);
  const { totalRequests } = data.status.stats;
  const { value, failure, again } = useReading(read, totalRequests, null, READING_OPTIONS);
  if (asked === null && best === null && value !== null) setBest(bestRange(value));
  // The previous report stays while the next is read, so that nothing closes or jumps.
  const isLate = value !== null && value.range !== range;
  return { range, report: isLate && failure !== null ? null : value, isLate, failure, again };
}

interface HistoryProps {
  readonly range: HistoryRange | null;
  readonly stack?: Stack | undefined;
}

/** Usage over time; without a range, over the one that shows most. */
export function History({ range: asked, stack = 'upstream' }: HistoryProps) {
  const { data, frozenAt } = useWindow();
  const { range, report, isLate, failure, again } = useReport(asked);
  const charts = useRef<HTMLDivElement>(null);
  const drawn = useHeld(report, report?.range ?? range, useInUse(charts));
  const nameOf = (id: string) => data.status.upstreams.find((each) => each.id === id)?.label ?? id;
  const isUnreadable = report === null && failure !== null && frozenAt === null;
  return (
    <>
      <div className="row page-head">
        <h1 id="history-title">{words.title}</h1>
        <Filters
          label={words.range}
          choices={HISTORY_RANGES}
          chosen={range}
          words={words.ranges}
          hash={(each) => hashOf({ page: 'history', range: each, stack })}
        />
      </div>
      {isUnreadable && (
        <Unreadable what={words.subject} message={failure.refusal.message} onRetry={again} />
      )}
      <section
        className="panel usage-history"
        aria-labelledby="history-title"
        aria-busy={report === null || isLate}
        hidden={isUnreadable}
      >
        {report !== null && failure !== null && (
          <p className="panel-text">{failure.refusal.message}</p>
        )}
        {report !== null && <Sums report={report} />}
        <div ref={charts} hidden={isEmpty(drawn)}>
          {drawn !== null && <Charts report={drawn} stack={stack} nameOf={nameOf} />}
        </div>
        {report !== null && !isEmpty(report) && <Tables report={report} nameOf={nameOf} />}
      </section>
    </>
  );
}

const isEmpty = (report: HistoryReport | null): boolean => (report?.points.length ?? 0) === 0;

/** The sums of today and this month; if the range has nothing, what will be here. */
function Sums({ report }: { readonly report: HistoryReport }) {
  const { problem, today, range } = report;
  const facts = [
    { label: words.sums.requests, value: formatCount(today.calls) },
    { label: words.sums.tokens, value: formatCount(today.inputTokens + today.outputTokens) },
    ...cacheSums(report),
    ...moneySums(report),
  ];
  return (
    <>
      {problem !== null && <p className="panel-text">{problem}</p>}
      <dl className="sums">
        {facts.map((fact) => (
          <Fact key={fact.label} {...fact} />
        ))}
      </dl>
      {isEmpty(report) && (
        <div className="history-empty">
          <h2>{words.nothing(range)}</h2>
          <p className="quiet">
            Requests, tokens and cost appear here minute by minute once an app sends one.{' '}
            <a href={TRY_IT}>Try a prompt</a>
          </p>
        </div>
      )}
    </>
  );
}

/** What caches have saved, where any reports it. */
function cacheSums({ thisMonth }: HistoryReport): readonly FactText[] {
  const { cachedTokens, inputTokens, readingSavedMs } = thisMonth;
  const reused = words.reusedOf(formatCompact(cachedTokens), formatCompact(inputTokens));
  const saved = words.about(formatDuration(readingSavedMs));
  return [
    ...(cachedTokens > 0 ? [{ label: words.sums.reused, value: reused }] : []),
    ...(readingSavedMs > 0 ? [{ label: words.sums.readingSaved, value: saved }] : []),
  ];
}

/** What nobody has set a price for is left out: it is unknown, and not zero. */
function moneySums(report: HistoryReport): readonly FactText[] {
  const { today, thisMonth, currency } = report;
  const money = (nano: number) => moneyText(nano, currency);
  const { energyNano, energyMj } = thisMonth;
  const kwh = words.kwh(kwhOf(thisMonth));
  // Without an amount while no price is set.
  const electricity = energyNano === 0 ? kwh : `${kwh}, ${money(energyNano)}`;
  return [
    ...(hasPrices(report)
      ? [
          { label: words.sums.spent, value: money(today.spentNano) },
          { label: words.sums.spentThisMonth, value: money(thisMonth.spentNano) },
          { label: words.sums.savedThisMonth, value: money(netSavedNano(thisMonth)) },
        ]
      : []),
    ...(energyMj > 0 ? [{ label: words.sums.electricity, value: electricity }] : []),
  ];
}

interface TablesProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

function Charts({ report, stack, nameOf }: TablesProps & { readonly stack: Stack }) {
  return (
    <>
      <StackedChart report={report} stack={stack} nameOf={nameOf} />
      <FirstTokens />
      <div className="charts">
        {MEASURES.filter((each) => isDrawn(each, report)).map((measure) => (
          <Chart key={measure.id} report={report} measure={measure} />
        ))}
      </div>
      <SeriesCharts
        title={words.overTime.upstreams}
        report={report}
        series={upstreamSeries(report, nameOf)}
      />
      <SeriesCharts
        title={words.overTime.machines}
        report={report}
        series={machineSeries(report)}
      />
    </>
  );
}

/** Half of the answers, and nineteen of twenty, began within these times; of the requests that this page has. */
function FirstTokens() {
  const { data } = useWindow();
  const values = data.requests.flatMap((row) => firstTokenMsOfRequest(row) ?? []);
  const found = percentiles(values);
  if (found === null) return null;
  return (
    <p className="panel-text quiet">
      {words.percentiles(formatDuration(found.p50), formatDuration(found.p95), values.length)}
    </p>
  );
}

/** The requests have a chart of their own; what has no values, such as speeds of whole answers, has none. */
const isDrawn = ({ id, of }: Measure, { points }: HistoryReport): boolean =>
  id !== 'requests' && valuesOf(points, of).length > 0;

function Chart({ report, measure }: { readonly report: HistoryReport; readonly measure: Measure }) {
  const values = valuesOf(report.points, measure.of);
  const peak = peakOf(values);
  const max = niceMax(peak);
  const bars = barsUpTo(report, values, max).map((bar) => ({
    ...bar,
    title: `${stepText(report, bar.at)}: ${measure.text(bar.value)}`,
  }));
  const filter = LEADS_TO[measure.id];
  return (
    <figure className="chart" data-layer={measure.id === 'failures' ? 'failed' : undefined}>
      <figcaption>
        {filter === undefined ? (
          words.measures[measure.id]
        ) : (
          <a href={hashOf({ page: 'requests', filter })}>{words.measures[measure.id]}</a>
        )}
        <span className="chart-max">{words.peak(measure.text(peak))}</span>
      </figcaption>
      <Plot {...{ report, bars, max }} text={measure.text} />
    </figure>
  );
}

const LEADS_TO: Readonly<Partial<Record<Measure['id'], RequestFilter>>> = {
  fallbacks: 'fell-back',
  failures: 'failed',
};

/** The newest value, or the previous one while held. Null and values of another `of` are never held. */
function useHeld<T>(value: T | null, of: string, isHeld: boolean): T | null {
  const [kept, setKept] = useState({ of, value });
  if (isHeld && kept.of === of && kept.value !== null) return kept.value;
  if (kept.of !== of || !Object.is(kept.value, value)) setKept({ of, value });
  return value;
}

function Tables({ report, nameOf }: TablesProps) {
  const { parts, keys, points } = report;
  const stepColumns = Object.fromEntries(MEASURES.map(({ id }) => [id, words.measures[id]]));
  return (
    <>
      {parts.length > 0 && (
        <FigureTable
          label={words.byUpstream}
          columns={priced(words.columns, report)}
          rows={partRows(report, nameOf)}
          isTitled
        />
      )}
      {keys.length > 0 && (
        <FigureTable
          label={words.byKey}
          columns={priced(words.keyColumns, report)}
          rows={keys.map(({ key, figures }) => ({
            key,
            hash: hashOf({ page: 'requests', filter: 'all', by: { key } }),
            cells: [key, ...countCells(figures), ...moneyCells(figures, report)],
          }))}
          isTitled
        />
      )}
      <details className="history-steps">
        <summary>{words.asTable}</summary>
        <FigureTable
          label={words.stepByStep}
          columns={{ from: words.from, ...stepColumns }}
          rows={points.toReversed().map(({ at, figures }) => ({
            key: String(at),
            cells: [
              stepText(report, at),
              ...MEASURES.map(({ of, text }) => orNoValue(of(figures), text)),
            ],
          }))}
        />
      </details>
    </>
  );
}

function partRows(report: HistoryReport, nameOf: TablesProps['nameOf']): readonly FigureRow[] {
  const machineOf = machineNames(report);
  return report.parts.map(({ upstream, provider, model, figures }) => {
    const name = nameOf(upstream);
    const by = {
      upstream,
      ...(provider === null ? {} : { machine: provider }),
      ...(model === null ? {} : { model }),
    };
    return {
      hash: hashOf({ page: 'requests', filter: 'all', by }),
      key: `${upstream} ${provider} ${model}`,
      cells: [
        provider === null ? name : t.usage.machineOf(name, machineOf(provider)),
        model ?? words.noValue,
        ...countCells(figures),
        orNoValue(firstTokenMs(figures), formatDuration),
        orNoValue(tokensPerSecond(figures), rateText),
        ...moneyCells(figures, report),
      ],
    };
  });
}

const countCells = ({ calls, failures, inputTokens, cachedTokens, outputTokens }: UsageFigures) =>
  [calls, failures, inputTokens, cachedTokens, outputTokens].map(formatCount);

/** Whether anything has a price: without one, costs are unknown and not zero. */
function hasPrices({ parts, thisMonth }: HistoryReport): boolean {
  const all = [thisMonth, ...parts.map(({ figures }) => figures)];
  return all.some(({ spentNano, savedNano }) => spentNano + savedNano > 0);
}

/** The columns of a table, without those of money where nothing has a price. */
function priced(columns: Readonly<Record<string, string>>, report: HistoryReport) {
  if (hasPrices(report)) return columns;
  const { spent: _, saved: __, ...others } = columns;
  return others;
}

function moneyCells(figures: UsageFigures, report: HistoryReport) {
  const { currency } = report;
  if (!hasPrices(report)) return [];
  return [moneyText(figures.spentNano, currency), moneyText(netSavedNano(figures), currency)];
}

const orNoValue = (value: number | null, text: (value: number) => string): string =>
  value === null ? words.noValue : text(value);

interface FigureTableProps {
  readonly label: string;
  readonly columns: Readonly<Record<string, string>>;
  /** The first cell is the head of its row. */
  readonly rows: readonly FigureRow[];
  readonly isTitled?: boolean;
}

interface FigureRow {
  readonly key: string;
  readonly hash?: string;
  readonly cells: readonly string[];
}

function FigureTable({ label, columns, rows, isTitled = false }: FigureTableProps) {
  const ids = Object.keys(columns);
  const classOf = (id: string | undefined) => (id === 'model' ? 'history-name' : undefined);
  return (
    <>
      {isTitled && <h2 className="series-title">{label}</h2>}
      {/* A scrolling region without controls is reachable by keyboard (axe: scrollable-region-focusable). */}
      <section className="history-scroll" {...FOCUSABLE} aria-label={label}>
        <table>
          <thead>
            <tr>
              {ids.map((id) => (
                <th key={id} scope="col" className={classOf(id)}>
                  {columns[id]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, hash, cells: [head, ...cells] }) => (
              <tr key={key}>
                <th scope="row" title={head}>
                  {hash === undefined ? head : <a href={hash}>{head}</a>}
                </th>
                {cells.map((cell, at) => (
                  <td
                    key={ids[at + 1]}
                    className={classOf(ids[at + 1])}
                    title={classOf(ids[at + 1]) && cell}
                  >
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

const FOCUSABLE = { tabIndex: 0 } as const;
