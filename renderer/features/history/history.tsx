import { useCallback, useRef, useState } from 'react';
import {
  HISTORY_RANGES,
  type HistoryRange,
  type HistoryReport,
  type UsageFigures,
} from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCount, formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Fact } from '../../ui/facts.tsx';
import { useInUse } from '../../ui/use-in-use.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { BarGraph } from './bar-graph.tsx';
import {
  barsOf,
  firstTokenMs,
  type Measure,
  MEASURES,
  moneyText,
  rateText,
  stepText,
  tokensPerSecond,
  kwhOf,
  netSavedNano,
} from './history-model.ts';
import { machineNames, machineSeries, SeriesCharts, upstreamSeries } from './series-charts.tsx';

const words = t.history;

const LONGEST_MS = 10_000;

/** Usage over time. */
export function History({ range }: { readonly range: HistoryRange }) {
  const { readHistory, data } = useWindow();
  const { upstreams, stats } = data.status;
  const read = useCallback(() => readHistory(range), [readHistory, range]);
  const { value, failure } = useReading(read, stats.totalRequests, null, { longestMs: LONGEST_MS });
  // The previous report stays while the next is read, so that nothing closes or jumps.
  const isLate = value !== null && value.range !== range;
  const report = isLate && failure !== null ? null : value;
  const charts = useRef<HTMLDivElement>(null);
  const drawn = useHeld(report, report?.range ?? range, useInUse(charts));
  const nameOf = (id: string) => upstreams.find((each) => each.id === id)?.label ?? id;
  return (
    <section
      className="panel usage-history"
      aria-labelledby="history-title"
      aria-busy={report === null || isLate}
    >
      <header className="panel-head">
        <h1 id="history-title">{words.title}</h1>
        <nav className="history-ranges" aria-label={words.range}>
          {HISTORY_RANGES.map((each) => (
            <a
              key={each}
              href={hashOf({ page: 'history', range: each })}
              aria-current={each === range ? 'true' : undefined}
            >
              {words.ranges[each]}
            </a>
          ))}
        </nav>
      </header>
      {failure !== null && <p className="history-note">{failure.refusal.message}</p>}
      {report !== null && (
        <>
          {report.problem !== null && <p className="history-note">{report.problem}</p>}
          <dl className="history-sums">
            <Fact label={words.sums.requests} value={formatCount(report.today.calls)} />
            <Fact
              label={words.sums.tokens}
              value={formatCount(report.today.inputTokens + report.today.outputTokens)}
            />
            <MoneySums report={report} />
          </dl>
        </>
      )}
      <div ref={charts}>
        {drawn !== null && (
          <>
            <div className="charts">
              {MEASURES.map((measure) => (
                <Chart key={measure.id} report={drawn} measure={measure} />
              ))}
            </div>
            <SeriesCharts
              title={words.overTime.upstreams}
              report={drawn}
              series={upstreamSeries(drawn, nameOf)}
            />
            <SeriesCharts
              title={words.overTime.machines}
              report={drawn}
              series={machineSeries(drawn)}
            />
          </>
        )}
      </div>
      {report !== null && (
        <>
          <StepTable report={report} />
          {report.parts.length > 0 && <PartTable report={report} nameOf={nameOf} />}
          {report.keys.length > 0 && <KeyTable report={report} />}
        </>
      )}
    </section>
  );
}

/** Renders nothing while no upstream has a price, because costs are then unknown. */
function MoneySums({ report }: { readonly report: HistoryReport }) {
  const { today, thisMonth, currency } = report;
  if (thisMonth.spentNano + thisMonth.savedNano + thisMonth.energyMj === 0) return null;
  return (
    <>
      <Fact label={words.sums.spent} value={moneyText(today.spentNano, currency)} />
      <Fact label={words.sums.spentThisMonth} value={moneyText(thisMonth.spentNano, currency)} />
      <Fact
        label={words.sums.savedThisMonth}
        value={moneyText(netSavedNano(thisMonth), currency)}
      />
      {thisMonth.energyMj > 0 && (
        <Fact label={words.sums.electricity} value={electricityText(thisMonth, currency)} />
      )}
    </>
  );
}

/** Bars over the range; the table below gives the same figures to screen readers. */
function Chart({ report, measure }: { readonly report: HistoryReport; readonly measure: Measure }) {
  const { bars, max } = barsOf(report, measure);
  return (
    <figure className="chart">
      <figcaption>
        {words.measures[measure.id]}
        <span className="chart-max">{max === 0 ? words.empty : words.peak(measure.text(max))}</span>
      </figcaption>
      <BarGraph
        bars={bars}
        titleOf={({ at, value }) => `${stepText(report, at)}: ${measure.text(value)}`}
      />
      <div className="chart-ends" aria-hidden="true">
        <span>{stepText(report, report.from)}</span>
        <span>{words.now}</span>
      </div>
    </figure>
  );
}

/** The newest value, or the previous one while held. Null and values of another `of` are never held. */
function useHeld<T>(value: T | null, of: string, isHeld: boolean): T | null {
  const [kept, setKept] = useState({ of, value });
  if (isHeld && kept.of === of && kept.value !== null) return kept.value;
  if (kept.of !== of || !Object.is(kept.value, value)) setKept({ of, value });
  return value;
}

/** The sums of each upstream, machine and model. */
function PartTable({ report, nameOf }: PartTableProps) {
  const machineOf = machineNames(report);
  const rows = report.parts.map(({ upstream, provider, model, figures }) => {
    const name = nameOf(upstream);
    const head = provider === null ? name : t.usage.machineOf(name, machineOf(provider));
    return {
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
  return <FigureTable label={words.byUpstream} columns={words.columns} rows={rows} />;
}

interface PartTableProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** The sums of each key. */
function KeyTable({ report }: { readonly report: HistoryReport }) {
  const rows = report.keys.map(({ key, figures }) => ({
    key,
    cells: [key, ...countCells(figures), ...moneyCells(figures, report)],
  }));
  return <FigureTable label={words.byKey} columns={words.keyColumns} rows={rows} />;
}

/** The figures of the charts. */
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

function countCells({ calls, failures, inputTokens, outputTokens }: UsageFigures) {
  return [calls, failures, inputTokens, outputTokens].map(formatCount);
}

/** Without an amount while no price is set. */
function electricityText(figures: UsageFigures, currency: string): string {
  const { energyNano } = figures;
  const kwh = words.kwh(kwhOf(figures));
  return energyNano === 0 ? kwh : `${kwh}, ${moneyText(energyNano, currency)}`;
}

function moneyCells(figures: UsageFigures, { currency }: HistoryReport) {
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
  readonly rows: readonly { readonly key: string; readonly cells: readonly string[] }[];
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
          {rows.map(({ key, cells: [head, ...cells] }) => (
            <tr key={key}>
              <th scope="row">{head}</th>
              {cells.map((cell, at) => (
                <td key={ids[at + 1]} className={classOf(ids[at + 1])}>
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
