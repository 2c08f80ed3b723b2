import type { HistoryReport } from '#shared/usage.ts';
import { formatCount } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { MEASURES, moneyText, stepText, tokensPerSecond } from './history-model.ts';

const words = t.history;

/** What scrolls and has no control in it is reached by keyboard only so (axe: scrollable-region-focusable). */
const FOCUSABLE = { tabIndex: 0 } as const;

interface PartsProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** What each upstream, machine and model came to. */
export function PartTable({ report, nameOf }: PartsProps) {
  const { parts, currency } = report;
  return (
    <section className="history-scroll" {...FOCUSABLE} aria-label={words.byUpstream}>
      <table>
        <thead>
          <tr>
            {Object.entries(words.columns).map(([id, column]) => (
              <th key={id} scope="col" className={id === 'model' ? 'history-name' : undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {parts.map(({ upstream, provider, model, figures }) => (
            <tr key={`${upstream} ${provider} ${model}`}>
              <th scope="row">{nameOf(upstream) + (provider === null ? '' : ` · ${provider}`)}</th>
              <td className="history-name">{model ?? '–'}</td>
              <td>{formatCount(figures.calls)}</td>
              <td>{formatCount(figures.failures)}</td>
              <td>{formatCount(figures.inputTokens)}</td>
              <td>{formatCount(figures.outputTokens)}</td>
              <td>{tokensPerSecond(figures)?.toFixed(1) ?? '–'}</td>
              <td>{moneyText(figures.spentNano, currency)}</td>
              <td>{moneyText(figures.savedNano, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What the requests with each key came to. */
export function KeyTable({ report: { keys, currency } }: Pick<PartsProps, 'report'>) {
  return (
    <section className="history-scroll" {...FOCUSABLE} aria-label={words.byKey}>
      <table>
        <thead>
          <tr>
            {Object.entries(words.keyColumns).map(([id, column]) => (
              <th key={id} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map(({ key, figures }) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{formatCount(figures.calls)}</td>
              <td>{formatCount(figures.failures)}</td>
              <td>{formatCount(figures.inputTokens)}</td>
              <td>{formatCount(figures.outputTokens)}</td>
              <td>{moneyText(figures.spentNano, currency)}</td>
              <td>{moneyText(figures.savedNano, currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
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
