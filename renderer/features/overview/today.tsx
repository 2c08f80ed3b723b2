import { useCallback } from 'react';
import type { HistoryReport, UsageFigures } from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { BarGraph } from '../history/bar-graph.tsx';
import { barsOf, moneyText, netSavedNano } from '../history/history-model.ts';

const words = t.overview.today;

interface Tile {
  readonly label: string;
  readonly of: (figures: UsageFigures) => number;
  readonly text: (value: number) => string;
}

const LONGEST_MS = 30_000;

/** Today's sums; renders nothing if no history is kept. */
export function Today() {
  const { readHistory, data } = useWindow();
  const read = useCallback(() => readHistory('day'), [readHistory]);
  const { value: report } = useReading(read, data.status.stats.totalRequests, null, {
    longestMs: LONGEST_MS,
  });
  if (report === null || report.problem !== null || report.thisMonth.calls === 0) return null;
  return (
    <section className="today panel" aria-labelledby="today-title">
      <header className="panel-head">
        <h2 id="today-title">{words.title}</h2>
        <a href={hashOf({ page: 'history', range: 'day' })}>{words.history}</a>
      </header>
      <dl>
        {tilesOf(report).map((tile) => (
          <div key={tile.label}>
            <dt>{tile.label}</dt>
            <dd>{tile.text(tile.of(report.today))}</dd>
            {/* The last 24 hours; the History view has the figures. */}
            <BarGraph className="sparkline" bars={barsOf(report, tile).bars} />
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The tiles; money only if an upstream has a price. */
function tilesOf({
  currency,
  thisMonth: { spentNano, savedNano },
}: HistoryReport): readonly Tile[] {
  const money = (value: number) => moneyText(value, currency);
  return [
    { label: words.requests, of: ({ calls }) => calls, text: formatCompact },
    {
      label: words.tokens,
      of: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
      text: formatCompact,
    },
    ...(spentNano + savedNano === 0
      ? []
      : [
          { label: words.spent, of: (at: UsageFigures) => at.spentNano, text: money },
          { label: words.saved, of: netSavedNano, text: money },
        ]),
  ];
}
