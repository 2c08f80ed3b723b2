import type { ReactNode } from 'react';
import type { HistoryReport, UsageFigures } from '#shared/usage.ts';
import { formatCount, formatDuration } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import {
  firstTokenMs,
  MEASURES,
  moneyText,
  rateText,
  stepText,
  tokensPerSecond,
} from './history-model.ts';
import { machineNames } from './series-model.ts';

const words = t.history;

/** Makes a scrolling region without controls reachable by keyboard (axe: scrollable-region-focusable). */
const FOCUSABLE = { tabIndex: 0 } as const;

interface PartsProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** The sums of each upstream, machine and model. */
export function PartTable({ report, nameOf }: PartsProps) {
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
export function KeyTable({ report: { keys, currency } }: Pick<PartsProps, 'report'>) {
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
export function StepTable({ report }: { readonly report: HistoryReport }) {
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
