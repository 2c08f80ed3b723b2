import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { Narrowing } from '#shared/request-filter.ts';
import type { HistoryReport } from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Filters } from '../../ui/fields.tsx';
import { type Bar, barsUpTo, niceMax, type Stack, STACKS, stepText } from './history-model.ts';
import { Plot } from './plot.tsx';

const words = t.history;

interface Layer {
  readonly id: string;
  readonly name: string;
  /** The requests that it counts; null if no page shows just them. */
  readonly hash: string | null;
  readonly valueAt: (at: number) => number;
}

interface StackedChartProps {
  readonly report: HistoryReport;
  readonly stack: Stack;
  readonly nameOf: (upstream: string) => string;
}

/** Answers over time, each step stacked by who gave them, with what failed on top; the names lead to the requests. */
export function StackedChart({ report, stack, nameOf }: StackedChartProps) {
  const answers = stack === 'model' ? modelLayers(report) : upstreamLayers(report, nameOf);
  const layers = [...answers, failedLayer(report)];
  const totals = report.points.map(({ at }) => layers.reduce((sum, of) => sum + of.valueAt(at), 0));
  const max = niceMax(Math.max(0, ...totals));
  const bars = report.points.flatMap(({ at }) => columnAt(report, at, layers, max));
  return (
    <figure className="chart stacked">
      <figcaption>
        <div className="stacked-title">
          {words.answers}
          <Filters
            label={words.stackedBy}
            choices={STACKS}
            chosen={stack}
            words={words.stacks}
            hash={(each) => hashOf({ page: 'history', range: report.range, stack: each })}
          />
        </div>
        <ul className="stacked-names">
          {layers.map((layer) => (
            <LayerName
              key={layer.id}
              layer={layer}
              total={report.points.reduce((sum, { at }) => sum + layer.valueAt(at), 0)}
            />
          ))}
        </ul>
      </figcaption>
      <Plot {...{ report, bars, max }} text={formatCompact} />
    </figure>
  );
}

function LayerName({ layer, total }: { readonly layer: Layer; readonly total: number }) {
  if (total === 0) return null;
  const { id, name, hash } = layer;
  return (
    <li>
      <span className="stacked-key" data-layer={id} aria-hidden="true" />
      {hash === null ? name : <a href={hash}>{name}</a>} {formatCompact(total)}
    </li>
  );
}

/** The layers of a step in which they have something, from the bottom. */
function columnAt(
  report: HistoryReport,
  at: number,
  layers: readonly Layer[],
  max: number,
): readonly Bar[] {
  let base = 0;
  return layers.flatMap(({ id, name, valueAt }) => {
    const value = valueAt(at);
    const title = `${stepText(report, at)}: ${name} ${formatCompact(value)}`;
    const [bar] = value > 0 ? barsUpTo(report, [{ at, value }], max) : [];
    if (bar === undefined) return [];
    base += bar.height;
    return [{ ...bar, base: base - bar.height, layer: id, title }];
  });
}

function upstreamLayers({ points }: HistoryReport, nameOf: (id: string) => string): Layer[] {
  const byTime = new Map(points.map(({ at, upstreams }) => [at, upstreams]));
  return UPSTREAM_IDS.map((id) => ({
    id,
    name: nameOf(id),
    hash: requestsHash({ upstream: id }),
    valueAt: (at) => {
      const { calls = 0, failures = 0 } = byTime.get(at)?.[id] ?? {};
      return calls - failures;
    },
  }));
}

/** The busiest at the bottom. Colours go by name, so that they stay where two models overtake each other. */
function modelLayers({ models }: HistoryReport): Layer[] {
  const names = models.flatMap(({ model }) => model ?? []).toSorted();
  return models.map(({ model, points }) => {
    const byTime = new Map(points.map(({ at, answers }) => [at, answers]));
    const valueAt = (at: number) => byTime.get(at) ?? 0;
    if (model === null) return { id: 'others', name: words.otherModels, hash: null, valueAt };
    const id = `model-${names.indexOf(model) + 1}`;
    return { id, name: model, hash: requestsHash({ model }), valueAt };
  });
}

function failedLayer({ points }: HistoryReport): Layer {
  const byTime = new Map(points.map(({ at, figures }) => [at, figures.failures]));
  const hash = hashOf({ page: 'requests', filter: 'failed' });
  return { id: 'failed', name: words.failed, hash, valueAt: (at) => byTime.get(at) ?? 0 };
}

const requestsHash = (by: Narrowing) => hashOf({ page: 'requests', filter: 'all', by });
