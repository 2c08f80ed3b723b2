import { formatDuration } from '../../text/format.ts';
import type { Line, Station } from './upstream-list.ts';
import { problemAt, type Problem } from './problem.ts';
import type { Tone } from './upstream-status-text.ts';
import { t } from '../../text/t.ts';

export interface Headline {
  /** The text before the subject, as in `Serving from `. */
  readonly lead: string;
  /** The coloured part of the sentence: the upstream, if there is one. */
  readonly subject: string;
  readonly rest: string;
  readonly tone: Tone;
  /** Lines shown if there are no problems. */
  readonly details: readonly string[];
  readonly problems: readonly Problem[];
}

const words = t.overview.headline;

/** The headline while the gateway cannot be reached. */
export const UNREACHABLE: Headline = {
  lead: '',
  subject: words.unreachable,
  rest: '',
  tone: 'red',
  details: [words.appsGetErrors],
  problems: [],
};

/** The headline for the line's state. */
export function headlineOf(line: Line, demo: boolean): Headline {
  const found = line.stations.map(problemAt).filter((problem) => problem !== null);
  const { server, stations } = line;
  const broken = demo ? found.map(({ what }) => ({ what, todo: words.demoTodo })) : found;
  const problems = server || broken.length === 0 ? broken : [...broken, ...switchedOff(stations)];
  if (!server) return { ...withoutServer(stations), problems };
  return { ...withServer(server, line), problems };
}

/** True while no upstream is set up at all. */
export function isUnconfigured(line: Line): boolean {
  return line.stations.every(({ condition }) => condition.kind === 'missing');
}

/** A problem that says so if upstreams could answer with zero-spend off. */
function switchedOff(stations: readonly Station[]): readonly Problem[] {
  if (!stations.some(isOff)) return [];
  return [{ what: words.paidOff, todo: words.paidOffTodo }];
}

function isOff({ condition }: Station): boolean {
  return condition.kind === 'zero-spend';
}

type Sentence = Omit<Headline, 'problems'>;

function withoutServer(stations: readonly Station[]): Sentence {
  if (stations.every(({ condition }) => condition.kind === 'missing')) {
    return { lead: '', subject: words.bare, rest: '', tone: 'grey', details: [words.bareTodo] };
  }
  const [local] = stations;
  if (local?.condition.kind === 'no-provider' && local.condition.cause === 'verifying') {
    const details = [words.verifyingNote];
    return { lead: '', subject: local.report.label, rest: words.verifying, tone: 'blue', details };
  }
  const [off] = switchedOff(stations);
  if (off) {
    const details = [`${off.what} ${off.todo}`];
    return { lead: '', ...words.none, tone: 'red', details };
  }
  const resting = stations.some(({ condition }) => condition.kind === 'cooling');
  const details = resting ? words.noneButTried : words.noneAtAll;
  return { lead: '', ...words.none, tone: 'red', details: [details] };
}

function withServer(server: Station, { stations }: Line): Sentence {
  const { label } = server.report;
  const before = stations.slice(0, stations.indexOf(server)).filter(isSetUp);
  switch (server.condition.kind) {
    case 'failing':
      return { lead: '', subject: label, rest: words.failing, ...red() };
    case 'down':
      return { lead: '', subject: label, rest: words.down, ...red() };
    case 'untested':
      return { lead: '', subject: label, rest: words.untested, ...untested() };
    case 'probe':
      return { lead: '', subject: label, rest: words.retried, ...amber() };
    case 'on-demand':
      if (server.condition.warmup !== 'ready') return startingSentence(server);
      break;
    default:
  }
  const out = before.map(({ report }) => report.label);
  const rest = words.servingRest(out);
  const details = detailLines(server, stations);
  return { lead: words.serving, subject: label, rest, tone: 'green', details };
}

function startingSentence(server: Station): Sentence {
  const { label, timeoutMs } = server.report;
  const details = [words.waits(formatDuration(timeoutMs))];
  const warming = server.condition.kind === 'on-demand' && server.condition.warmup === 'warming';
  const rest = warming ? words.starting : words.coldStart;
  return { lead: '', subject: label, rest, tone: 'blue', details };
}

function detailLines(server: Station, stations: readonly Station[]): readonly string[] {
  const { model, circuit } = server.report;
  const speed = circuit.ewmaTtft === null ? '' : words.firstToken(formatDuration(circuit.ewmaTtft));
  const behind = stations
    .slice(stations.indexOf(server) + 1)
    .filter(({ condition }) => condition.kind === 'closed' || condition.kind === 'on-demand')
    .map(({ report }) => report.label);
  const next =
    behind.length > 0
      ? words.order(behind)
      : stations.some(isOff)
        ? words.othersOff
        : words.noFallback;
  return [[model, speed].filter((part) => part !== '').join(' · '), next].filter(
    (line) => line !== '',
  );
}

function isSetUp({ condition }: Station): boolean {
  return condition.kind !== 'missing';
}

function red(): Pick<Sentence, 'tone' | 'details'> {
  return { tone: 'red', details: [words.stillTried] };
}

function untested(): Pick<Sentence, 'tone' | 'details'> {
  return { tone: 'grey', details: [words.untestedTodo] };
}

function amber(): Pick<Sentence, 'tone' | 'details'> {
  return { tone: 'amber', details: [words.noOther] };
}
