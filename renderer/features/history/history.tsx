import { useCallback, useState } from 'react';
import { distinctNames, unknownMachine } from '#shared/machine-names.ts';
import type { RequestFilter } from '#shared/request-filter.ts';
import {
  HISTORY_RANGES,
  type HistoryRange,
  type HistoryReport,
  type UsageFigures,
} from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCount, formatDuration, formatMoney } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Fact, type FactText, Unreadable } from '../../ui/facts.tsx';
import { Filters } from '../../ui/fields.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import {
  barsUpTo,
  bestRange,
  endedIn,
  firstTokenMs,
  hasPrices,
  type Measure,
  measuresOf,
  netSavedNano,
  niceMax,
  peakOf,
  stepText,
  valuesOf,
} from './history-model.ts';
import { ToFirstPrompt } from '../setup/first-run.tsx';
import { Moves } from '../overview/moves.tsx';
import { Plot } from './plot.tsx';
import { StackedChart } from './stacked-chart.tsx';

const RANGE_WORDS = { hour: 'Hour', day: 'Day', week: 'Week', month: 'Month' };

const READING_OPTIONS = { longestMs: 10_000 };

/** The report of a range, read again with each request; without a range, of the one that shows most. */
function useReport(asked: HistoryRange | null) {
  const { readHistory, data } = useWindow();
  const [best, setBest] = useState<HistoryRange | null>(null);
  const range = asked ?? best ?? 'day';
  const read = useCallback(() => readHistory(range), [readHistory, range]);
  const ended = endedIn(data.outcomes);
  const { value, failure, again } = useReading(read, ended, null, READING_OPTIONS);
  if (asked === null && best === null && value !== null) setBest(bestRange(value));
  // The previous report stays while the next is read, so that nothing closes or jumps.
  const isLate = value !== null && value.range !== range;
  return { range, report: isLate && failure !== null ? null : value, isLate, failure, again };
}

/** Usage over time; without a range, over the one that shows most. */
export function History({ range: asked }: { readonly range: HistoryRange | null }) {
  const { data, frozenAt } = useWindow();
  const { range, report, isLate, failure, again } = useReport(asked);
  const nameOf = (id: string) => data.status.upstreams.find((each) => each.id === id)?.label ?? id;
  const isUnreadable = report === null && failure !== null && frozenAt === null;
  return (
    <>
      <div className="row page-head">
        <h1 id="history-title">History</h1>
        <Filters
          label="Range"
          choices={HISTORY_RANGES}
          chosen={range}
          words={RANGE_WORDS}
          hash={(each) => hashOf({ page: 'history', range: each })}
        />
      </div>
      <Moves />
      {isUnreadable && (
        <Unreadable what="The history" message={failure.refusal.message} onRetry={again} />
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
        {report !== null && <Report {...{ report, nameOf }} />}
      </section>
    </>
  );
}

interface ReportProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** The sums of today and this month, and the range by time, by upstream and by key. */
function Report({ report, nameOf }: ReportProps) {
  const { problem, range, points, rereads } = report;
  return (
    <>
      {problem !== null && <p className="panel-text">{problem}</p>}
      <dl className="sums">
        {sumsOf(report).map((fact) => (
          <Fact key={fact.label} {...fact} />
        ))}
      </dl>
      {rereads.length > 0 && <p className="panel-text">{t.usage.rereads(rereads)}</p>}
      {points.length === 0 ? (
        <div className="history-empty">
          <h2>No requests in the last {range}</h2>
          <p className="quiet">
            Requests, tokens and cost appear here minute by minute once an app sends one.{' '}
            <ToFirstPrompt />
          </p>
        </div>
      ) : (
        <>
          <StackedChart {...{ report, nameOf }} />
          <div className="charts">
            {measuresOf(report)
              .filter(({ id, of }) => DRAWN.has(id) && valuesOf(report, of).length > 0)
              .map((measure) => (
                <Chart key={measure.id} {...{ report, measure }} />
              ))}
          </div>
          <Tables {...{ report, nameOf }} />
        </>
      )}
    </>
  );
}

/** Requests and failures are in the chart above. */
const DRAWN: ReadonlySet<string> = new Set(['fallbacks', 'output', 'first', 'spent', 'saved']);

/** What has no price is left out: its cost is unknown, and not zero. */
function sumsOf(report: HistoryReport): readonly FactText[] {
  const { today, thisMonth, currency } = report;
  const money = (nano: number) => formatMoney(nano, currency);
  return [
    { label: 'Requests today', value: formatCount(today.calls) },
    { label: 'Tokens today', value: formatCount(today.inputTokens + today.outputTokens) },
    ...(hasPrices(report)
      ? [
          { label: 'Spent today', value: money(today.spentNano) },
          { label: 'Spent this month', value: money(thisMonth.spentNano) },
          { label: 'Saved by your GPUs this month', value: money(netSavedNano(thisMonth)) },
        ]
      : []),
    ...(thisMonth.energyMj > 0
      ? [{ label: 'Electricity of answers this month', value: electricityText(report) }]
      : []),
  ];
}

const MJ_PER_KWH = 3_600_000_000;

/** Has no amount while no price of electricity is set. */
function electricityText({ thisMonth, currency }: HistoryReport): string {
  const kwh = thisMonth.energyMj / MJ_PER_KWH;
  const text = `${kwh < 1 ? kwh.toFixed(3) : kwh.toFixed(1)} kWh`;
  return thisMonth.energyNano === 0
    ? text
    : `${text}, ${formatMoney(thisMonth.energyNano, currency)}`;
}

function Chart({ report, measure }: { readonly report: HistoryReport; readonly measure: Measure }) {
  const { id, label, of, text } = measure;
  const values = valuesOf(report, of);
  const peak = peakOf(values);
  const max = niceMax(peak);
  const bars = barsUpTo(report, values, max).map((bar) => ({
    ...bar,
    title: `${stepText(report, bar.at)}: ${text(bar.value)}`,
  }));
  const filter: RequestFilter | null = id === 'fallbacks' ? 'fell-back' : null;
  return (
    <figure className="chart">
      <figcaption>
        {filter === null ? label : <a href={hashOf({ page: 'requests', filter })}>{label}</a>}
        <span className="chart-max">peak {text(peak)}</span>
      </figcaption>
      <Plot {...{ report, bars, max, text }} />
    </figure>
  );
}

function Tables({ report, nameOf }: ReportProps) {
  const { keys, parts, points } = report;
  const measures = measuresOf(report);
  const money = hasPrices(report) ? ['Spent', 'Saved'] : [];
  return (
    <>
      {parts.length > 0 && (
        <FigureTable
          label="By source and model"
          columns={['Source', 'Model', ...COUNTS, 'First token', ...money]}
          rows={partRows(report, nameOf)}
          isTitled
        />
      )}
      {keys.length > 0 && (
        <FigureTable
          label="By key"
          columns={['Key', ...COUNTS, ...money]}
          rows={keys.map(({ key, figures }) => ({
            key,
            hash: hashOf({ page: 'requests', filter: 'all', by: { key } }),
            cells: [key, ...countCells(figures), ...moneyCells(figures, report)],
          }))}
          isTitled
        />
      )}
      <details className="history-steps">
        <summary>Show as a table</summary>
        <FigureTable
          label="By time"
          columns={['From', ...measures.map(({ label }) => label)]}
          rows={points.toReversed().map(({ at, figures }) => ({
            key: String(at),
            cells: [
              stepText(report, at),
              ...measures.map(({ of, text }) => orDash(of(figures), text)),
            ],
          }))}
        />
      </details>
    </>
  );
}

function partRows(report: HistoryReport, nameOf: ReportProps['nameOf']): readonly FigureRow[] {
  const machines = distinctNames(report.names);
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
        provider === null
          ? name
          : t.usage.machineOf(name, machines.get(provider) ?? unknownMachine(provider)),
        model ?? NONE,
        ...countCells(figures),
        orDash(firstTokenMs(figures), formatDuration),
        ...moneyCells(figures, report),
      ],
    };
  });
}

const COUNTS = ['Calls', 'Failed', 'Tokens in', 'Tokens out'];

const countCells = ({ calls, failures, inputTokens, outputTokens }: UsageFigures) =>
  [calls, failures, inputTokens, outputTokens].map(formatCount);

const moneyCells = (figures: UsageFigures, report: HistoryReport): readonly string[] =>
  hasPrices(report)
    ? [figures.spentNano, netSavedNano(figures)].map((nano) => formatMoney(nano, report.currency))
    : [];

const NONE = '–';

const orDash = (value: number | null, text: (value: number) => string): string =>
  value === null ? NONE : text(value);
interface FigureTableProps {
  readonly label: string;
  readonly columns: readonly string[];
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
  const classOf = (at: number) => (columns[at] === 'Model' ? 'history-name' : undefined);
  return (
    <>
      {isTitled && <h2 className="history-title">{label}</h2>}
      {/* A scrolling region without controls is reachable by keyboard (axe: scrollable-region-focusable). */}
      <section className="history-scroll" {...FOCUSABLE} aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={column} scope="col" className={classOf(at)}>
                  {column}
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
                  <td key={columns[at + 1]} className={classOf(at + 1)} title={cell}>
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
