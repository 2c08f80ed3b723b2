import { formatDuration } from '../../text/format.ts';
import type { Line, Station } from './upstream-list.ts';
import { problemAt, type Problem } from './problem.ts';
import type { Tone } from './upstream-status-text.ts';

export interface Headline {
  /** Before the subject, as in `Serving from `. */
  readonly lead: string;
  /** Coloured part of the sentence, the upstream where there is one. */
  readonly subject: string;
  readonly rest: string;
  readonly tone: Tone;
  /** Shown if nothing is wrong, a line each. */
  readonly calm: readonly string[];
  readonly problems: readonly Problem[];
}

const DEMO_TODO = 'Set it back to healthy below and watch it recover.';

/** Derives the sentence from the line. */
export function headlineOf(line: Line, demo: boolean): Headline {
  const found = line.stations.map(problemAt).filter((problem) => problem !== null);
  const { server, stations } = line;
  const broken = demo ? found.map(({ what }) => ({ what, todo: DEMO_TODO })) : found;
  const problems = server || broken.length === 0 ? broken : [...broken, ...switchedOff(stations)];
  if (!server) return { ...withoutServer(stations), problems };
  return { ...withServer(server, line), problems };
}

/** True while no upstream is set up at all. */
export function isBare(line: Line): boolean {
  return line.stations.every(({ condition }) => condition.kind === 'missing');
}

/** Upstreams that could answer if zero-spend were off. */
function switchedOff(stations: readonly Station[]): readonly Problem[] {
  if (!stations.some(isOff)) return [];
  const todo = 'Switch “Never spend money” off to let them answer.';
  return [{ what: 'The upstreams that cost money are switched off.', todo }];
}

function isOff({ condition }: Station): boolean {
  return condition.kind === 'zero-spend';
}

type Sentence = Omit<Headline, 'problems'>;

function withoutServer(stations: readonly Station[]): Sentence {
  if (stations.every(({ condition }) => condition.kind === 'missing')) {
    const calm = ['Tell Switchyard where your engine or a hosted API is.'];
    return { lead: '', subject: 'Nothing is set up yet.', rest: '', tone: 'grey', calm };
  }
  const [local] = stations;
  if (local?.condition.kind === 'no-provider' && local.condition.cause === 'verifying') {
    const calm = ['It serves as soon as its checks have passed.'];
    const rest = ' is being verified.';
    return { lead: '', subject: local.report.label, rest, tone: 'blue', calm };
  }
  const [off] = switchedOff(stations);
  if (off) {
    const calm = [`${off.what} ${off.todo}`];
    return { lead: '', subject: 'No upstream', rest: ' is available.', tone: 'red', calm };
  }
  const resting = stations.some(({ condition }) => condition.kind === 'cooling');
  const calm = resting
    ? 'Requests still try the one whose cool-down ends first.'
    : 'Requests are refused until one of them is back.';
  return { lead: '', subject: 'No upstream', rest: ' is available.', tone: 'red', calm: [calm] };
}

function withServer(server: Station, { stations }: Line): Sentence {
  const { label } = server.report;
  const before = stations.slice(0, stations.indexOf(server)).filter(isSetUp);
  switch (server.condition.kind) {
    case 'failing':
      return { lead: '', subject: label, rest: ' is failing, and there is no fallback.', ...red() };
    case 'down':
      return { lead: '', subject: label, rest: ' is down, and there is no fallback.', ...red() };
    case 'untested':
      return { lead: '', subject: label, rest: ' is next, but untested.', ...untested() };
    case 'probe':
      return { lead: '', subject: label, rest: ' is retried with the next request.', ...amber() };
    case 'on-demand':
      if (server.condition.warmup !== 'ready') return startingSentence(server);
      break;
    default:
  }
  const out = before.map(({ report }) => report.label);
  const rest = out.length === 0 ? '' : ` – ${listOf(out)} ${be(out)} down`;
  const calm = calmLines(server, stations);
  return { lead: 'Serving from ', subject: label, rest, tone: 'green', calm };
}

function startingSentence(server: Station): Sentence {
  const { label, timeoutMs } = server.report;
  const calm = [`Requests wait for it, up to ${formatDuration(timeoutMs)}.`];
  const warming = server.condition.kind === 'on-demand' && server.condition.warmup === 'warming';
  const rest = warming ? ' is starting up.' : ' is next (cold start).';
  return { lead: '', subject: label, rest, tone: 'blue', calm };
}

function calmLines(server: Station, stations: readonly Station[]): readonly string[] {
  const { model, circuit } = server.report;
  const speed =
    circuit.ewmaTtft === null ? '' : `first token in about ${formatDuration(circuit.ewmaTtft)}`;
  const behind = stations
    .slice(stations.indexOf(server) + 1)
    .filter(({ condition }) => condition.kind === 'closed' || condition.kind === 'on-demand')
    .map(({ report }) => report.label);
  const next =
    behind.length > 0
      ? `Fallback order: ${listOf(behind)}.`
      : `${stations.some(isOff) ? 'The others are switched off' : 'No fallback is set up'}: if it fails, requests fail.`;
  return [[model, speed].filter((part) => part !== '').join(' · '), next].filter(
    (line) => line !== '',
  );
}

function isSetUp({ condition }: Station): boolean {
  return condition.kind !== 'missing';
}

function listOf(names: readonly string[]): string {
  return new Intl.ListFormat('en').format(names);
}

function be(names: readonly string[]): string {
  return names.length === 1 ? 'is' : 'are';
}

function red(): Pick<Sentence, 'tone' | 'calm'> {
  return { tone: 'red', calm: ['Requests still try it.'] };
}

function untested(): Pick<Sentence, 'tone' | 'calm'> {
  return { tone: 'grey', calm: ['Test it below, or send the first request.'] };
}

function amber(): Pick<Sentence, 'tone' | 'calm'> {
  return { tone: 'amber', calm: ['No other upstream is available.'] };
}
