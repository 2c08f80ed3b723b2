/** One metric as it was read: what it is and the value of each series, by its labels as JSON. */
export interface Metric {
  readonly type: string;
  readonly help: string;
  readonly series: Map<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const META = new RegExp(String.raw`^# (HELP|TYPE) (${NAME}) (.+)$`, 's');
const SAMPLE = new RegExp(String.raw`^(${NAME})(?:\{(.*)\})? (\S+)$`, 's');
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const VALUE = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/;

/**
 * Reads the Prometheus text format 0.0.4, more strictly than a scraper: each metric is announced by its
 * HELP, then its TYPE, its samples follow at once, and nothing comes twice.
 */
export function readExposition(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  let help: readonly [name: string, text: string] | null = null;
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = META.exec(line) ?? [];
    if (kind === 'HELP') {
      if (metrics.has(name)) throw new Error(`${name} comes twice`);
      help = [name, unescaped(rest)];
    } else if (kind === 'TYPE') {
      if (help?.[0] !== name) throw new Error(`${name} has no HELP`);
      if (!['counter', 'gauge', 'histogram'].includes(rest))
        throw new Error(`${name} is a ${rest}`);
      metrics.set(name, { type: rest, help: help[1], series: new Map() });
      current = name;
      help = null;
    } else {
      addSample(line, current, metrics);
    }
  }
  for (const [name, { series }] of metrics) if (series.size === 0) throw new Error(`${name}: none`);
  return metrics;
}

function addSample(line: string, current: string, metrics: Map<string, Metric>): void {
  const [, name, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined || !VALUE.test(value)) throw new Error(`not a sample: ${line}`);
  const metric = metrics.get(current);
  const suffix = metric?.type === 'histogram' ? name.slice(current.length) : '';
  const isKnown = suffix === '' || ['_bucket', '_sum', '_count'].includes(suffix);
  const series = name === current + suffix && isKnown ? metric?.series : undefined;
  if (series === undefined) throw new Error(`${name} is not announced`);
  const key = suffix.replace('_bucket', '') + JSON.stringify(readLabels(labels));
  if (series.has(key)) throw new Error(`${line} comes twice`);
  series.set(key, Number(value.replace('Inf', 'Infinity')));
}

function readLabels(text: string): Record<string, string> {
  const labels: [name: string, value: string][] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not labels: ${text}`);
    if (labels.some(([other]) => other === name)) throw new Error(`${name} comes twice`);
    labels.push([name, unescaped(value)]);
  }
  return Object.fromEntries(labels);
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, (_, next: string) => (next === 'n' ? '\n' : next));
}
