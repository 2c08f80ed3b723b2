import { AXES, type Axis, type AxisName, type Curves, type Point } from '../growth/axis.ts';
import type { GrowthFigures } from '../growth/growth.ts';
import { verdict, type Bound } from '../kit/bound.ts';
import type { Spread } from '../kit/numbers.ts';
import type { Result, ResultName } from '../kit/results.ts';
import { ratioText, whole } from '../kit/table.ts';
import type { PoolFigures } from '../pool/pool.ts';
import { POOL_COLUMNS, poolRows } from '../pool/report.ts';
import { comparedRows, type Memory } from '../relay/report.ts';
import type { Summary } from '../relay/summary.ts';
import { START_COLUMNS } from '../start/report.ts';
import { WAYS, type StartFigures } from '../start/start.ts';
import { picture, THEMES, type Line, type Theme } from './draw.ts';

/** What docs/performance.md shows of the results, as text and as pictures. */

/** What the relay's part keeps. */
export interface RelayFigures {
  readonly rounds: number;
  readonly summary: Summary;
  readonly memory: Memory;
  readonly bounds: readonly Bound[];
}

/** What the pool's part keeps. */
export interface PoolResult {
  readonly figures: readonly PoolFigures[];
  readonly bounds: readonly Bound[];
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

/** Under what a run was made: the reader judges by it how firm its figures are. */
function conditions({ node, processor, others }: Result<unknown>): string {
  const busy =
    others > 0.1
      ? ` **While other programs ran**: they used ${whole(100 * others)} % of the machine.`
      : '';
  return `Node ${node.slice(1)}, two cores of ${processor}.${busy}`;
}

const boundsText = (bounds: readonly Bound[]) =>
  tableOf(
    ['bound', 'measured', 'at most', 'aim', ''],
    bounds.map((bound) => [
      bound.what,
      `${bound.measured.toFixed(bound.unit === '×' ? 2 : 1)}${bound.unit}`,
      `${bound.most}${bound.unit}`,
      bound.aim === null ? '' : `${bound.aim}${bound.unit}`,
      verdict(bound),
    ]),
  );

function relayText(result: Result<RelayFigures>): string {
  const { rounds, summary, memory, bounds } = result.figures;
  const bare = memory.bare?.loadedMb ?? 0;
  const megabytes = (of: keyof Memory) => {
    const mb = memory[of]?.loadedMb;
    return mb === undefined ? '–' : `${whole(mb - bare)} MB`;
  };
  return [
    `${conditions(result)} ${rounds} rounds; a ratio to bare is a median, with its quartiles; RSS is loaded, over bare's ${whole(bare)} MB.`,
    tableOf(
      ['', 'CPU per request', 'CPU per event', 'added TTFT p50', 'added TTFT p99', 'RSS over bare'],
      comparedRows(summary).map(([name, ...ratios]) => [
        name,
        ...ratios.map(ratioText),
        megabytes(name),
      ]),
    ),
    boundsText(bounds),
  ].join('\n\n');
}

const poolText = (result: Result<PoolResult>) =>
  [
    conditions(result),
    tableOf(POOL_COLUMNS, poolRows(result.figures.figures)),
    boundsText(result.figures.bounds),
  ].join('\n\n');

function startText(result: Result<StartFigures>): string {
  // A result that was kept before a figure came to the bench has none of it.
  const cell = (figure: Spread | undefined) => {
    if (figure === undefined) return '–';
    return figure.value < 10 ? figure.value.toFixed(1) : whole(figure.value);
  };
  return [
    `${conditions(result)} Milliseconds, medians of the starts.`,
    tableOf(
      ['', ...START_COLUMNS.map(([, words]) => words)],
      WAYS.map((way) => [way, ...START_COLUMNS.map(([key]) => cell(result.figures[way][key]))]),
    ),
  ].join('\n\n');
}

const pictureName = (name: AxisName, theme: Theme) => `growth-${name}-${theme}.svg`;

function growthText(result: Result<GrowthFigures>): string {
  const pictures = (Object.keys(result.figures) as AxisName[]).map((name) =>
    [
      `**${AXES[name].title}**`,
      '',
      '<picture>',
      `  <source media="(prefers-color-scheme: dark)" srcset="images/${pictureName(name, 'dark')}">`,
      `  <img alt="${AXES[name].title}: CPU, memory and event loop delay as curves" src="images/${pictureName(name, 'light')}" width="860">`,
      '</picture>',
    ].join('\n'),
  );
  return [conditions(result), ...pictures].join('\n\n');
}

function panelsOf(axis: Axis, curves: Curves) {
  const linesOf = (cost: (point: Point) => number): Line[] =>
    Object.entries(curves)
      .toSorted(([a], [b]) => b.localeCompare(a))
      .map(([name, points]) => ({
        name,
        points: points.map((point) => [point.size, cost(point)] as const),
      }));
  return [
    { title: axis.cpuName, lines: linesOf(({ cpu }) => cpu) },
    { title: 'resident memory, MB', lines: linesOf(({ rssMb }) => rssMb) },
    { title: 'event loop late, p99, ms', lines: linesOf(({ lateP99Ms }) => lateP99Ms) },
  ];
}

/** The pictures by their file name. */
export function picturesOf({ figures }: Result<GrowthFigures>): Readonly<Record<string, string>> {
  const drawn = (Object.keys(figures) as AxisName[]).flatMap((name) =>
    (Object.keys(THEMES) as Theme[]).map((theme) => [
      pictureName(name, theme),
      picture(panelsOf(AXES[name], figures[name] ?? {}), AXES[name].sizeName, theme),
    ]),
  );
  return Object.fromEntries(drawn) as Record<string, string>;
}

/** What stands in docs/performance.md for a result, from its JSON. */
export function sectionOf(name: ResultName, json: string): string {
  const result: unknown = JSON.parse(json);
  switch (name) {
    case 'relay':
      return relayText(result as Result<RelayFigures>);
    case 'growth':
      return growthText(result as Result<GrowthFigures>);
    case 'start':
      return startText(result as Result<StartFigures>);
    case 'pool':
      return poolText(result as Result<PoolResult>);
  }
}

/** The page with a section in the place of the one that it has. */
export function withSection(page: string, name: ResultName, section: string): string {
  const [begin, end] = [
    `<!-- ${name}: written by \`npm run figures\` -->`,
    `<!-- end of ${name} -->`,
  ];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page has no place for ${name}`);
  return `${page.slice(0, from + begin.length)}\n\n${section}\n\n${page.slice(to)}`;
}
