import { type ReactNode, useCallback, useRef, useState } from 'react';
import {
  HISTORY_RANGES,
  type HistoryRange,
  type HistoryReport,
  type UsageFigures,
} from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCount, formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { Fact } from '../../ui/fact.tsx';
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
  if (thisMonth.spentNano + thisMonth.savedNano === 0) return null;
  return (
    <>
      <Fact label={words.sums.spent} value={moneyText(today.spentNano, currency)} />
      <Fact label={words.sums.spentThisMonth} value={moneyText(thisMonth.spentNano, currency)} />
      <Fact label={words.sums.savedThisMonth} value={moneyText(thisMonth.savedNano, currency)} />
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

/** Makes a scrolling region without controls reachable by keyboard (axe: scrollable-region-focusable). */
const FOCUSABLE = { tabIndex: 0 } as const;

interface PartsProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** The sums of each upstream, machine and model. */
function PartTable({ report, nameOf }: PartsProps) {
  const { parts, currency } = report;
  const machineOf = machineNames(report);
  return (
    <FigureTable label={words.byUpstream} columns={words.columns}>
      {parts.map(({ upstream, provider, model, figures }) => {
        const first = firstTokenMs(figures);
        const rate = tokensPerSecond(figures);
        return (
          <tr key={`${upstream} ${provider} ${model}`}>
            <th scope="row">
              {provider === null
                ? nameOf(upstream)
                : t.usage.machineOf(nameOf(upstream), machineOf(provider))}
            </th>
            <td className="history-name">{model ?? '–'}</td>
            <CountCells figures={figures} />
            <td>{first === null ? words.noValue : formatDuration(first)}</td>
            <td>{rate === null ? words.noValue : rateText(rate)}</td>
            <MoneyCells figures={figures} currency={currency} />
          </tr>
        );
      })}
    </FigureTable>
  );
}

/** The sums of each key. */
function KeyTable({ report: { keys, currency } }: Pick<PartsProps, 'report'>) {
  return (
    <FigureTable label={words.byKey} columns={words.keyColumns}>
      {keys.map(({ key, figures }) => (
        <tr key={key}>
          <th scope="row">{key}</th>
          <CountCells figures={figures} />
          <MoneyCells figures={figures} currency={currency} />
        </tr>
      ))}
    </FigureTable>
  );
}

interface FigureTableProps {
  readonly label: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly children: ReactNode;
}

function FigureTable({ label, columns, children }: FigureTableProps) {
  return (
    <section className="history-scroll" {...FOCUSABLE} aria-label={label}>
      <table>
        <thead>
          <tr>
            {Object.entries(columns).map(([id, column]) => (
              <th key={id} scope="col" className={id === 'model' ? 'history-name' : undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

function CountCells({ figures }: { readonly figures: UsageFigures }) {
  const { calls, failures, inputTokens, outputTokens } = figures;
  return (
    <>
      <td>{formatCount(calls)}</td>
      <td>{formatCount(failures)}</td>
      <td>{formatCount(inputTokens)}</td>
      <td>{formatCount(outputTokens)}</td>
    </>
  );
}

function MoneyCells({
  figures: { spentNano, savedNano },
  currency,
}: {
  readonly figures: UsageFigures;
  readonly currency: string;
}) {
  return (
    <>
      <td>{moneyText(spentNano, currency)}</td>
      <td>{moneyText(savedNano, currency)}</td>
    </>
  );
}

/** The figures of the charts. */
function StepTable({ report }: { readonly report: HistoryReport }) {
  return (
    <details className="history-steps">
      <summary>{words.asTable}</summary>
      <section className="history-scroll" {...FOCUSABLE} aria-label={words.stepByStep}>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.from}</th>
              {MEASURES.map(({ id }) => (
                <th key={id} scope="col">
                  {words.measures[id]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {report.points.toReversed().map(({ at, figures }) => (
              <tr key={at}>
                <th scope="row">{stepText(report, at)}</th>
                {MEASURES.map(({ id, of, text }) => {
                  const value = of(figures);
                  return <td key={id}>{value === null ? '–' : text(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
