/**
 * `npm run figures`: takes what the last runs of the bench have brought to docs/figures/, and writes the tables and
 * pictures of docs/understand/performance.md from there.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { picture, THEMES, type Line, type Theme } from './draw.ts';
import { AXES, type AxisName, type GrowthFigures, type Point } from './growth.ts';
import { boundRows, whole, type Report, type Rows } from './report.ts';

/** The parts that docs/understand/performance.md shows. */
const KEPT = ['relay', 'growth', 'start', 'pool'] as const;
export type KeptName = (typeof KEPT)[number];

/** What a run brought, and under which conditions. */
interface Result {
  readonly node: string;
  readonly processor: string;
  /** The share of the machine that other programs used, from 0 to 1. */
  readonly others: number;
  readonly intro: string;
  /** With the bounds; none where there are curves. */
  readonly tables: readonly Rows[];
  readonly curves?: GrowthFigures;
}

const ROOT = join(import.meta.dirname, '..');
const DOCS = join(ROOT, 'docs');
const PAGE = join(DOCS, 'understand/performance.md');
const lastRun = (name: KeptName) => join(ROOT, '.cache/bench', `${name}.json`);
const shownRun = (name: KeptName) => join(DOCS, 'figures', `${name}.json`);
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Result;

/** Four digits say all that there is to know. */
const rounded = (_key: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;

/** Keeps what a run brought, for `npm run figures`; axes of growth that it did not measure stay as they were. */
export function keep(
  name: KeptName,
  { intro, tables, bounds, curves }: Report & { readonly curves?: GrowthFigures },
  others: number,
): void {
  const file = lastRun(name);
  mkdirSync(join(file, '..'), { recursive: true });
  const before = curves !== undefined && existsSync(file) ? read(file).curves : {};
  const shown =
    curves === undefined
      ? { intro, tables: [...tables, boundRows(bounds)] }
      : { intro: '', tables: [], curves: { ...before, ...curves } };
  const processor = cpus()[0]?.model ?? 'unknown';
  const result: Result = { node: process.version, processor, others, ...shown };
  writeFileSync(file, `${JSON.stringify(result, rounded, 2)}\n`);
}

/** The page's text between the marks of a part. */
function sectionOf({ node, processor, others, intro, tables, curves = {} }: Result): string {
  // The reader judges by it how firm the figures are.
  const busy = `**While other programs ran**: they used ${whole(100 * others)} % of the machine.`;
  const conditions = `Node ${node.slice(1)}, two cores of ${processor}.`;
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const markdown = ([head = [], ...rows]: Rows) =>
    [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
  return [
    [conditions, ...(others > 0.1 ? [busy] : []), ...(intro === '' ? [] : [intro])].join(' '),
    ...tables.map(markdown),
    ...(Object.keys(curves) as AxisName[]).map(pictureText),
  ].join('\n\n');
}

const pictureName = (name: AxisName, theme: Theme) => `images/growth-${name}-${theme}.svg`;

const pictureText = (name: AxisName) => `**${AXES[name].title}**

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../${pictureName(name, 'dark')}">
  <img alt="${AXES[name].title}: CPU, memory and event loop delay as curves" src="../${pictureName(name, 'light')}" width="860">
</picture>`;

/** docs/understand/performance.md as it should be. */
export async function performancePage(): Promise<string> {
  let page = readFileSync(PAGE, 'utf8');
  for (const name of KEPT) {
    const begin = `<!-- ${name}: written by \`npm run figures\` -->`;
    const [from, to] = [page.indexOf(begin), page.indexOf(`<!-- end of ${name} -->`)];
    if (from === -1 || to < from) throw new Error(`the page has no place for ${name}`);
    const section = sectionOf(read(shownRun(name)));
    page = `${page.slice(0, from + begin.length)}\n\n${section}\n\n${page.slice(to)}`;
  }
  return format(page, { ...(await resolveConfig(PAGE)), parser: 'markdown' });
}

/** The pictures as they should be, by their path in docs/. */
export function performancePictures(): Readonly<Record<string, string>> {
  const curves = Object.entries(read(shownRun('growth')).curves ?? {});
  const drawn = curves.flatMap(([name, curvesOf]) => {
    const axis = AXES[name as AxisName];
    const linesOf = (cost: (point: Point) => number): Line[] =>
      Object.entries(curvesOf)
        .toSorted(([a], [b]) => b.localeCompare(a))
        .map(([who, points]) => ({
          name: who,
          points: points.map((point) => [point.size, cost(point)] as const),
        }));
    const panels = [
      { title: axis.cpuName, lines: linesOf(({ cpu }) => cpu) },
      { title: 'resident memory, MB', lines: linesOf(({ rssMb }) => rssMb) },
      { title: 'event loop late, p99, ms', lines: linesOf(({ lateP99Ms }) => lateP99Ms) },
    ];
    return (Object.keys(THEMES) as Theme[]).map((theme) => [
      pictureName(name as AxisName, theme),
      picture(panels, axis.sizeName, theme),
    ]);
  });
  return Object.fromEntries(drawn) as Record<string, string>;
}

if (import.meta.main) {
  mkdirSync(join(DOCS, 'figures'), { recursive: true });
  for (const name of KEPT) {
    if (existsSync(lastRun(name))) {
      const json = readFileSync(lastRun(name), 'utf8');
      writeFileSync(shownRun(name), await format(json, { parser: 'json' }));
    } else if (!existsSync(shownRun(name))) throw new Error(`first: npm run bench, for ${name}`);
  }
  for (const [path, svg] of Object.entries(performancePictures()))
    writeFileSync(join(DOCS, path), svg);
  writeFileSync(PAGE, await performancePage());
}
