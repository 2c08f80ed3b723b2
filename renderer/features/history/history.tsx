import { useCallback, useRef, useState } from 'react';
import {
  HISTORY_RANGES,
  type HistoryRange,
  type HistoryReport,
  type UsageFigures,
} from '#shared/usage.ts';
import { firstTokenMsOfRequest } from '#shared/live.ts';
import type { RequestFilter } from '#shared/request-filter.ts';
import { hashOf } from '../../route.ts';
import { formatCompact, formatCount, formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Fact } from '../../ui/facts.tsx';
import { useInUse } from '../../ui/use-in-use.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import {
  bestRange,
  firstTokenMs,
  type Measure,
  MEASURES,
  moneyText,
  percentiles,
  rateText,
  type Stack,
  stepCount,
  stepOf,
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

const LONGEST_MS = 10_000;

/** The report of a range, read again with each request; without a range, of the one that shows most. */
function useReport(
  asked: HistoryRange | null,
  readHistory: ReturnType<typeof useWindow>['readHistory'],
  revision: number,
) {
  const [best, setBest] = useState<HistoryRange | null>(null);
  const range = asked ?? best ?? 'day';
  const read = useCallback(() => readHistory(range), [readHistory, range]);
  const { value, failure } = useReading(read, revision, null, { longestMs: LONGEST_MS });
  if (asked === null && best === null && value !== null) setBest(bestRange(value));
  // The previous report stays while the next is read, so that nothing closes or jumps.
  const isLate = value !== null && value.range !== range;
  return { range, report: isLate && failure !== null ? null : value, isLate, failure };
}

/** Usage over time; without a range, over the one that shows most. */
export function History({
  range: asked,
  stack,
}: {
  readonly range: HistoryRange | null;
  readonly stack: Stack;
}) {
  const { readHistory, data } = useWindow();
  const { upstreams, stats } = data.status;
  const { range, report, isLate, failure } = useReport(asked, readHistory, stats.totalRequests);
  const charts = useRef<HTMLDivElement>(null);
  const drawn = useHeld(report, report?.range ?? range, useInUse(charts));
  const nameOf = (id: string) => upstreams.find((each) => each.id === id)?.label ?? id;
  return (
    <>
      <div className="page-head">
        <h1 id="history-title">{words.title}</h1>
        <nav className="filters" aria-label={words.range}>
          {HISTORY_RANGES.map((each) => (
            <a
              key={each}
              href={hashOf({ page: 'history', range: each, stack })}
              aria-current={each === range ? 'true' : undefined}
            >
              {words.ranges[each]}
            </a>
          ))}
        </nav>
      </div>
      <section
        className="panel usage-history"
        aria-labelledby="history-title"
        aria-busy={report === null || isLate}
      >
        {failure !== null && <p className="history-note">{failure.refusal.message}</p>}
        {report !== null && <Sums report={report} />}
        <div ref={charts} hidden={isEmpty(drawn)}>
          {drawn !== null && <Charts report={drawn} stack={stack} nameOf={nameOf} />}
        </div>
        {report !== null && !isEmpty(report) && (
          <>
            {report.parts.length > 0 && <PartTable report={report} nameOf={nameOf} />}
            {report.keys.length > 0 && <KeyTable report={report} />}
            <StepTable report={report} />
          </>
        )}
      </section>
    </>
  );
}

const isEmpty = (report: HistoryReport | null): boolean => (report?.points.length ?? 0) === 0;

/** The sums of today and this month; if the range has nothing, what will be here. */
function Sums({ report }: { readonly report: HistoryReport }) {
  const { problem, today, range } = report;
  return (
    <>
      {problem !== null && <p className="history-note">{problem}</p>}
      <dl className="history-sums">
        <Fact label={words.sums.requests} value={formatCount(today.calls)} />
        <Fact
          label={words.sums.tokens}
          value={formatCount(today.inputTokens + today.outputTokens)}
        />
        <CacheSums report={report} />
        <MoneySums report={report} />
      </dl>
      {isEmpty(report) && (
        <div className="history-empty">
          <h2>{words.nothing(range)}</h2>
          <p className="quiet">
            {words.nothingText((text) => (
              <a href={hashOf({ page: 'chat' })}>{text}</a>
            ))}
          </p>
        </div>
      )}
    </>
  );
}

function Charts({ report, stack, nameOf }: PartTableProps & { readonly stack: Stack }) {
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

/** What caches have saved, where any reports it. */
function CacheSums({ report: { thisMonth } }: { readonly report: HistoryReport }) {
  const { cachedTokens, inputTokens, readingSavedMs } = thisMonth;
  return (
    <>
      {cachedTokens > 0 && (
        <Fact
          label={words.sums.reused}
          value={words.reusedOf(formatCompact(cachedTokens), formatCompact(inputTokens))}
        />
      )}
      {readingSavedMs > 0 && (
        <Fact label={words.sums.readingSaved} value={words.about(formatDuration(readingSavedMs))} />
      )}
    </>
  );
}

/** What nobody has set a price for is left out: it is unknown, and not zero. */
function MoneySums({ report }: { readonly report: HistoryReport }) {
  const { today, thisMonth, currency } = report;
  return (
    <>
      {hasPrices(report) && (
        <>
          <Fact label={words.sums.spent} value={moneyText(today.spentNano, currency)} />
          <Fact
            label={words.sums.spentThisMonth}
            value={moneyText(thisMonth.spentNano, currency)}
          />
          <Fact
            label={words.sums.savedThisMonth}
            value={moneyText(netSavedNano(thisMonth), currency)}
          />
        </>
      )}
      {thisMonth.energyMj > 0 && (
        <Fact label={words.sums.electricity} value={electricityText(thisMonth, currency)} />
      )}
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
    <p className="history-percentiles">
      {words.percentiles(formatDuration(found.p50), formatDuration(found.p95), values.length)}
    </p>
  );
}

/** The requests have a chart of their own; what has no values, such as speeds of whole answers, has none. */
function isDrawn({ id, of }: Measure, { points }: HistoryReport): boolean {
  return id !== 'requests' && valuesOf(points, of).length > 0;
}

/** Bars over the range. */
function Chart({ report, measure }: { readonly report: HistoryReport; readonly measure: Measure }) {
  const values = valuesOf(report.points, measure.of);
  const peak = Math.max(0, ...values.map(({ value }) => value));
  const steps = stepCount(report);
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
      <Plot report={report} peak={peak} text={measure.text}>
        {(scale) =>
          values.map(({ at, value }) => (
            <rect key={at} {...scale.box(stepOf(report, at) / steps, 1 / steps, value, value)}>
              <title>{`${stepText(report, at)}: ${measure.text(value)}`}</title>
            </rect>
          ))
        }
      </Plot>
    </figure>
  );
}

/** The requests that a chart counts. */
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

function PartTable({ report, nameOf }: PartTableProps) {
  const machineOf = machineNames(report);
  const rows = report.parts.map(({ upstream, provider, model, figures }) => {
    const name = nameOf(upstream);
    const head = provider === null ? name : t.usage.machineOf(name, machineOf(provider));
    const by = {
      upstream,
      ...(provider === null ? {} : { machine: provider }),
      ...(model === null ? {} : { model }),
    };
    return {
      hash: hashOf({ page: 'requests', filter: 'all', by }),
      key: `${upstream} ${provider} ${model}`,
      cells: [
        head,
        model ?? words.noValue,
        ...countCells(figures),
        orNoValue(firstTokenMs(figures), formatDuration),
        orNoValue(tokensPerSecond(figures), rateText),
        ...moneyCells(figures, report),
      ],
    };
  });
  return (
    <>
      <h2 className="series-title">{words.byUpstream}</h2>
      <FigureTable label={words.byUpstream} columns={priced(words.columns, report)} rows={rows} />
    </>
  );
}

interface PartTableProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

function KeyTable({ report }: { readonly report: HistoryReport }) {
  const rows = report.keys.map(({ key, figures }) => ({
    key,
    hash: hashOf({ page: 'requests', filter: 'all', by: { key } }),
    cells: [key, ...countCells(figures), ...moneyCells(figures, report)],
  }));
  return (
    <>
      <h2 className="series-title">{words.byKey}</h2>
      <FigureTable label={words.byKey} columns={priced(words.keyColumns, report)} rows={rows} />
    </>
  );
}

function StepTable({ report }: { readonly report: HistoryReport }) {
  const rows = report.points.toReversed().map(({ at, figures }) => ({
    key: String(at),
    cells: [stepText(report, at), ...MEASURES.map(({ of, text }) => orNoValue(of(figures), text))],
  }));
  const columns = MEASURES.map(({ id }) => [id, words.measures[id]]);
  return (
    <details className="history-steps">
      <summary>{words.asTable}</summary>
      <FigureTable
        label={words.stepByStep}
        columns={{ from: words.from, ...Object.fromEntries(columns) }}
        rows={rows}
      />
    </details>
  );
}

function countCells({ calls, failures, inputTokens, cachedTokens, outputTokens }: UsageFigures) {
  return [calls, failures, inputTokens, cachedTokens, outputTokens].map(formatCount);
}

/** Without an amount while no price is set. */
function electricityText(figures: UsageFigures, currency: string): string {
  const { energyNano } = figures;
  const kwh = words.kwh(kwhOf(figures));
  return energyNano === 0 ? kwh : `${kwh}, ${moneyText(energyNano, currency)}`;
}

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

function orNoValue(value: number | null, text: (value: number) => string): string {
  return value === null ? words.noValue : text(value);
}

interface FigureTableProps {
  readonly label: string;
  /** Titles by column, from left to right. */
  readonly columns: Readonly<Record<string, string>>;
  /** The first cell is the head of its row. */
  readonly rows: readonly FigureRow[];
}

interface FigureRow {
  readonly key: string;
  /** Address of the requests that it sums up. */
  readonly hash?: string;
  readonly cells: readonly string[];
}

function FigureTable({ label, columns, rows }: FigureTableProps) {
  const ids = Object.keys(columns);
  const classOf = (id: string | undefined) => (id === 'model' ? 'history-name' : undefined);
  return (
    // A scrolling region without controls is reachable by keyboard (axe: scrollable-region-focusable).
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
  );
}

const FOCUSABLE = { tabIndex: 0 } as const;
