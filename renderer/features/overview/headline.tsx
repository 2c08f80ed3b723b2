import type { ReactNode } from 'react';
import type { NoProviderCause } from '#shared/condition.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Tone } from '../../text/en/states.ts';
import { formatDuration } from '../../text/format.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import { t } from '../../text/t.ts';
import { isLasting } from './upstream-card.tsx';
import type { UpstreamList, UpstreamView } from './upstream-list.ts';

interface HeadlineProps {
  readonly headline: HeadlineText;
  readonly children: ReactNode;
}

const LINES = 2;

/** The summary at the top of the overview; read aloud when it changes. */
export function Headline({ headline, children }: HeadlineProps) {
  const { lead, subject, rest, tone, details, problems } = headline;
  // Two lines are reserved below the headline; the last one counts the problems that do not fit.
  const shown = problems.length <= LINES ? LINES : LINES - 1;
  const more = problems.length - shown;
  return (
    <section className="headline">
      <div aria-live="polite">
        <h1>
          {lead}
          <span data-tone={tone}>{subject}</span>
          {rest}
        </h1>
        {problems.length === 0 && details.map((line) => <p key={line}>{line}</p>)}
        {problems.slice(0, shown).map(({ what, todo }) => (
          <p key={what}>
            <strong>{what}</strong> {todo}
          </p>
        ))}
        {more > 0 && <p>{t.overview.headline.more(more)}</p>}
      </div>
      {children}
    </section>
  );
}

export interface HeadlineText {
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
export const UNREACHABLE: HeadlineText = {
  lead: '',
  subject: words.unreachable,
  rest: '',
  tone: 'red',
  details: [words.appsGetErrors],
  problems: [],
};

/** The headline for the upstreams' state. */
export function headlineOf(list: UpstreamList, demo: boolean): HeadlineText {
  const found = list.upstreams.map(problemAt).filter((problem) => problem !== null);
  const { server, upstreams } = list;
  const broken = demo ? found.map(({ what }) => ({ what, todo: words.demoTodo })) : found;
  const problems = server || broken.length === 0 ? broken : [...broken, ...switchedOff(upstreams)];
  if (!server) return { ...withoutServer(upstreams), problems };
  return { ...withServer(server, list), problems };
}

/** True while no upstream is set up at all. */
export function isUnconfigured(list: UpstreamList): boolean {
  return !list.upstreams.some(isSetUp);
}

/** A problem that says so if upstreams could answer with zero-spend off. */
function switchedOff(upstreams: readonly UpstreamView[]): readonly Problem[] {
  if (!upstreams.some(isOff)) return [];
  return [{ what: words.paidOff, todo: words.paidOffTodo }];
}

function isOff({ condition }: UpstreamView): boolean {
  return condition.kind === 'zero-spend';
}

type Sentence = Omit<HeadlineText, 'problems'>;

function say(
  tone: Tone,
  { lead = '', subject, rest = '' }: Partial<Sentence> & Pick<Sentence, 'subject'>,
  ...details: readonly string[]
): Sentence {
  return { lead, subject, rest, tone, details };
}

function withoutServer(upstreams: readonly UpstreamView[]): Sentence {
  if (!upstreams.some(isSetUp)) return say('grey', { subject: words.bare }, words.bareTodo);
  const [local] = upstreams;
  if (local?.condition.kind === 'no-provider' && local.condition.cause === 'verifying') {
    const { label: subject } = local.report;
    return say('blue', { subject, rest: words.verifying }, words.verifyingNote);
  }
  const [off] = switchedOff(upstreams);
  if (off) return say('red', words.none, `${off.what} ${off.todo}`);
  const isCooling = upstreams.some(({ condition }) => condition.kind === 'cooling');
  return say('red', words.none, isCooling ? words.noneButTried : words.noneAtAll);
}

function withServer(server: UpstreamView, { upstreams }: UpstreamList): Sentence {
  const { label: subject, timeoutMs } = server.report;
  switch (server.condition.kind) {
    case 'failing':
      return say('red', { subject, rest: words.failing }, words.stillTried);
    case 'down':
      return say('red', { subject, rest: words.down }, words.stillTried);
    case 'untested':
      return say('grey', { subject, rest: words.untested }, words.untestedTodo);
    case 'probe':
      return say('amber', { subject, rest: words.retried }, words.noOther);
    case 'on-demand': {
      const { warmup } = server.condition;
      if (warmup === 'ready') break;
      const rest = warmup === 'warming' ? words.starting : words.coldStart;
      return say('blue', { subject, rest }, words.waits(formatDuration(timeoutMs)));
    }
    default:
  }
  const before = upstreams.slice(0, upstreams.indexOf(server)).filter(isSetUp);
  const rest = words.servingRest(before.map(({ report }) => report.label));
  return say('green', { lead: words.serving, subject, rest }, ...detailLines(server, upstreams));
}

function detailLines(server: UpstreamView, upstreams: readonly UpstreamView[]): readonly string[] {
  const { model, circuit } = server.report;
  const speed = circuit.ewmaTtft === null ? '' : words.firstToken(formatDuration(circuit.ewmaTtft));
  const behind = upstreams
    .slice(upstreams.indexOf(server) + 1)
    .filter(({ condition }) => condition.kind === 'closed' || condition.kind === 'on-demand')
    .map(({ report }) => report.label);
  const next =
    behind.length > 0
      ? words.order(behind)
      : upstreams.some(isOff)
        ? words.othersOff
        : words.noFallback;
  return [[model, speed].filter((part) => part !== '').join(' · '), next].filter(
    (line) => line !== '',
  );
}

function isSetUp({ condition }: UpstreamView): boolean {
  return condition.kind !== 'missing';
}

/** A problem and its remedy. */
interface Problem {
  readonly what: string;
  readonly todo: string;
}

const problemWords = t.overview.problems;

/** An upstream's problem, or null. Without ticking figures, because a live region reads it aloud. */
function problemAt(upstream: UpstreamView): Problem | null {
  const { condition, report } = upstream;
  const { label, circuit } = report;
  const because =
    circuit.lastError === null ? '' : problemWords.because(reasonText(reasonOf(circuit.lastError)));
  switch (condition.kind) {
    case 'cooling':
    case 'probe':
      return {
        what: isSlow(upstream)
          ? problemWords.slow(label, circuit.consecutiveSlow)
          : problemWords.failed(label, circuit.consecutiveFails, because),
        todo: repair(upstream),
      };
    case 'failing':
      return { what: problemWords.failing(label, because), todo: repair(upstream) };
    case 'skipped':
      if (condition.reason === 'budget') return budgetProblem(report);
      return isLasting(condition.reason) ? skipProblem(upstream, condition.reason) : null;
    case 'no-provider':
      return noProviderProblem(label, condition.cause);
    case 'down':
      return downProblem(upstream, condition.reason);
    case 'on-demand':
      return condition.warmup === 'failed'
        ? { what: problemWords.notStarted(label), todo: problemWords.notStartedTodo }
        : null;
    default:
      return nearBudget(report);
  }
}

function nearBudget(report: UpstreamReport): Problem | null {
  const { label, budget } = report;
  if (budget === undefined || budget.spent < WARNED_SHARE * budget.limit) return null;
  return { what: problemWords.nearBudget(label, budget.period), todo: raiseBudget(report) };
}

function budgetProblem(report: UpstreamReport): Problem {
  const what = problemWords.budget(report.label, report.budget?.period ?? 'day');
  return { what, todo: raiseBudget(report) };
}

function raiseBudget({ id, budget }: UpstreamReport): string {
  const name = `SWITCHYARD_${id.toUpperCase()}_BUDGET_${budget?.period.toUpperCase() ?? 'DAY'}`;
  return problemWords.budgetTodo(name);
}

function noProviderProblem(label: string, cause: NoProviderCause): Problem | null {
  switch (cause) {
    case 'silent':
      return { what: problemWords.silent(label), todo: problemWords.silentTodo };
    case 'engine':
      return { what: problemWords.engine(label), todo: problemWords.engineTodo };
    case 'no-gpu':
      return { what: problemWords.noGpu(label), todo: problemWords.noGpuTodo };
    case 'failed':
      return { what: problemWords.unverified(label), todo: problemWords.unverifiedTodo };
    case 'verifying':
      return null;
  }
}

function downProblem(upstream: UpstreamView, reason: string): Problem {
  const { label, baseUrl, id } = upstream.report;
  if (reason === 'credentials') return skipProblem(upstream, reason);
  const place = baseUrl === null ? '' : problemWords.at(baseUrl);
  const todo = id === 'local' ? problemWords.startOrCorrect(place) : problemWords.check(place);
  return { what: problemWords.down(label, reasonText(reason)), todo };
}

function isSlow({ report }: UpstreamView): boolean {
  return report.circuit.consecutiveFails === 0;
}

function repair(upstream: UpstreamView): string {
  const { baseUrl, circuit, id } = upstream.report;
  if (isSlow(upstream)) return problemWords.checkUse;
  const place = baseUrl === null ? '' : problemWords.at(baseUrl);
  if (id !== 'local') return problemWords.checkService(place);
  return circuit.lastError !== null && reasonOf(circuit.lastError) === 'unreachable'
    ? problemWords.startEngine(place)
    : problemWords.checkEngine(place);
}

function skipProblem({ report }: UpstreamView, reason: string): Problem {
  const { label, id, model } = report;
  const place = (name: string): string =>
    problemWords.setting(`SWITCHYARD_${id.toUpperCase()}_${name}`);
  switch (reason) {
    case 'credentials':
      return { what: problemWords.key(label), todo: problemWords.keyTodo(place('API_KEY')) };
    case 'quota':
      return { what: problemWords.quota(label), todo: problemWords.quotaTodo };
    case 'model_not_found':
      return {
        what: problemWords.model(label, model),
        todo: problemWords.modelTodo(place('MODEL')),
      };
    default:
      return { what: problemWords.skipped(label, reasonText(reason)), todo: '' };
  }
}
