import type { ReactNode } from 'react';
import type { NoProviderCause } from '#shared/condition.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Tone } from '../../text/en/states.ts';
import { formatCountdown, formatDuration } from '../../text/format.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import type { Absence } from '../../text/en/overview.tsx';
import { t } from '../../text/t.ts';
import { firstBack, isLasting, type UpstreamList, type UpstreamView } from './upstream-list.ts';
import type { UpstreamId } from '#shared/ids.ts';
import { hashOf } from '../../route.ts';
import { ControlButton } from '../../ui/button.tsx';
import { costHint, TestResult, useTest } from '../setup/upstream-test.tsx';

interface HeadlineProps {
  readonly headline: HeadlineText;
  readonly list: UpstreamList;
  readonly children: ReactNode;
}

const LINES = 2;

/** The summary at the top of the overview; read aloud when it changes. */
export function Headline({ headline, list, children }: HeadlineProps) {
  const { lead, subject, rest, tone, details, problems, isStuck } = headline;
  // Two lines are reserved below the headline, and the last one counts the problems that do not fit. Where nobody
  // answers, the owner has to see all of them.
  const shown = problems.length <= LINES || isStuck ? problems.length : LINES - 1;
  const more = problems.length - shown;
  return (
    <section className="headline">
      <div>
        <div aria-live="polite">
          <h1>
            {lead}
            <span data-tone={tone}>{subject}</span>
            {rest}
          </h1>
          {(problems.length === 0 || isStuck) && details.map((line) => <p key={line}>{line}</p>)}
        </div>
        {isStuck && <Back list={list} />}
        <div aria-live="polite">
          {problems.slice(0, shown).map(({ what, todo, remedy }) => (
            <p key={what}>
              <strong>{what}</strong> {todo} {remedy !== null && <RemedyButton remedy={remedy} />}
            </p>
          ))}
          {more > 0 && <p>{t.overview.headline.more(more)}</p>}
        </div>
      </div>
      {children}
    </section>
  );
}

/** Outside the live regions, because it ticks. */
function Back({ list }: { readonly list: UpstreamList }) {
  const back = firstBack(list);
  if (back === null) return null;
  const { label, remainingMs, isPromised } = back;
  const wording = isPromised ? words.backIn : words.retriedIn;
  return <p>{wording(label, formatCountdown(remainingMs))}</p>;
}

export interface HeadlineText {
  /** The text before the subject, as in `Serving from `. */
  readonly lead: string;
  /** The coloured part of the sentence: the upstream, if there is one. */
  readonly subject: string;
  readonly rest: string;
  readonly tone: Tone;
  /** Lines shown if there are no problems, or nobody answers. */
  readonly details: readonly string[];
  readonly problems: readonly Problem[];
  /** Nobody is known to answer. */
  readonly isStuck: boolean;
}

const words = t.overview.headline;

export const UNREACHABLE: HeadlineText = {
  lead: '',
  subject: words.unreachable,
  rest: '',
  tone: 'red',
  details: [words.appsGetErrors],
  problems: [],
  isStuck: false,
};

/** The gateway's verdict in words, with what is wrong with each upstream. */
export function headlineOf(list: UpstreamList, demo: boolean): HeadlineText {
  const { upstreams, verdict } = list;
  const isStuck = verdict.kind === 'stuck';
  const found = upstreams
    .map((upstream) => problemAt(upstream, isStuck))
    .filter((problem) => problem !== null);
  const broken = demo
    ? found.map(({ what }) => ({ what, todo: words.demoTodo, remedy: null }))
    : found;
  const problems = isStuck ? [...broken, ...switchedOff(upstreams)] : broken;
  const sentence = sentenceFor(list);
  const isPreferred = list.server !== null && list.server.preferredMs !== null;
  const details = isPreferred ? [words.preferred, ...sentence.details] : sentence.details;
  return { ...sentence, details, problems, isStuck };
}

/** A problem that says so if upstreams could answer with zero-spend off. */
function switchedOff(upstreams: readonly UpstreamView[]): readonly Problem[] {
  if (!upstreams.some(isOff)) return [];
  const remedy: Remedy = { kind: 'settings', section: 'routing', word: words.openSetting };
  return [{ what: words.paidOff, todo: words.paidOffTodo, remedy }];
}

function isOff({ condition }: UpstreamView): boolean {
  return condition.kind === 'zero-spend';
}

type Sentence = Omit<HeadlineText, 'problems' | 'isStuck'>;

function say(
  tone: Tone,
  { lead = '', subject, rest = '' }: Partial<Sentence> & Pick<Sentence, 'subject'>,
  ...details: readonly string[]
): Sentence {
  return { lead, subject, rest, tone, details };
}

function sentenceFor(list: UpstreamList): Sentence {
  const { verdict, upstreams, server } = list;
  switch (verdict.kind) {
    case 'bare':
      return say('grey', { subject: words.bare }, words.bareTodo);
    case 'verifying': {
      const local = upstreams.find(({ report }) => report.id === 'local');
      const subject = local?.report.label ?? '';
      return say('blue', { subject, rest: words.verifying }, words.verifyingNote);
    }
    case 'stuck': {
      const detail = server === null ? words.noneAtAll : words.stillTried(server.report.label);
      return say('red', words.none, detail);
    }
    case 'untested': {
      const subject = server?.report.label ?? '';
      return say('grey', { subject, rest: words.untested }, words.untestedTodo);
    }
    case 'serving':
      return server === null ? say('red', words.none) : serving(server, upstreams);
  }
}

function serving(server: UpstreamView, upstreams: readonly UpstreamView[]): Sentence {
  const { label: subject, timeoutMs } = server.report;
  const details = detailLines(server, upstreams);
  switch (server.condition.kind) {
    case 'probe':
      return say('amber', { subject, rest: words.retried }, ...details);
    case 'on-demand': {
      const { warmup } = server.condition;
      if (warmup === 'ready') break;
      const rest = warmup === 'warming' ? words.starting : words.coldStart;
      return say('blue', { subject, rest }, words.waits(formatDuration(timeoutMs)));
    }
    default:
  }
  const before = upstreams.slice(0, upstreams.indexOf(server)).filter(isSetUp);
  const rest = words.servingRest(before.map(absenceOf));
  return say('green', { lead: words.serving, subject, rest }, ...details);
}

/** An upstream that is passed by, with why, if it is not down: it answered that it cannot serve, or its owner paused it. */
function absenceOf({ report, condition }: UpstreamView): Absence {
  const { label } = report;
  if (condition.kind === 'skipped') return { label, because: reasonText(condition.reason) };
  const isPaused = condition.kind === 'no-provider' && condition.cause === 'paused';
  return { label, because: isPaused ? reasonText('paused') : null };
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

interface Problem {
  readonly what: string;
  readonly todo: string;
  /** Null where there is nothing to press. */
  readonly remedy: Remedy | null;
}

const problemWords = t.overview.problems;
const remedyWords = t.overview.remedies;

const MACHINES: Remedy = { kind: 'machines' };

function settingsAt({ id }: UpstreamReport, word: string): Remedy {
  return { kind: 'settings', section: id, word };
}

/**
 * An upstream's problem, or null. Without ticking figures, because a live region reads it aloud. `isStuck`: nobody
 * answers, so that also what passes by itself is told.
 */
function problemAt(upstream: UpstreamView, isStuck: boolean): Problem | null {
  const { condition, report } = upstream;
  const { label, circuit, id } = report;
  const check: Remedy = { kind: 'check', id, label };
  switch (condition.kind) {
    case 'cooling':
    case 'probe':
      return condition.cause === 'slow'
        ? {
            what: problemWords.slow(label, circuit.consecutiveSlow),
            todo: problemWords.checkUse,
            remedy: check,
          }
        : {
            what: problemWords.failed(label, circuit.consecutiveFails, becauseOf(report)),
            ...repair(report),
          };
    case 'failing':
      return { what: problemWords.failing(label, becauseOf(report)), ...repair(report) };
    case 'skipped':
      if (condition.reason === 'budget') return budgetProblem(report);
      return isLasting(condition.reason) || isStuck ? skipProblem(report, condition.reason) : null;
    case 'no-provider':
      return noProviderProblem(label, condition.cause, isStuck);
    case 'down':
      return downProblem(report, condition.reason);
    case 'on-demand':
      return condition.warmup === 'failed'
        ? {
            what: problemWords.notStarted(label),
            todo: problemWords.notStartedTodo,
            remedy: check,
          }
        : null;
    default:
      return nearBudget(report);
  }
}

function becauseOf({ circuit: { lastError } }: UpstreamReport): string {
  return lastError === null ? '' : problemWords.because(reasonText(reasonOf(lastError)));
}

function nearBudget(report: UpstreamReport): Problem | null {
  const { label, budget } = report;
  if (budget === undefined || budget.spent < WARNED_SHARE * budget.limit) return null;
  return {
    what: problemWords.nearBudget(label, budget.period),
    todo: '',
    remedy: settingsAt(report, remedyWords.raiseBudget),
  };
}

function budgetProblem(report: UpstreamReport): Problem {
  return {
    what: problemWords.budget(report.label, report.budget?.period ?? 'day'),
    todo: '',
    remedy: settingsAt(report, remedyWords.raiseBudget),
  };
}

function noProviderProblem(
  label: string,
  cause: NoProviderCause,
  isStuck: boolean,
): Problem | null {
  const remedy = MACHINES;
  switch (cause) {
    case 'silent':
      return { what: problemWords.silent(label), todo: problemWords.silentTodo, remedy };
    case 'engine':
      return { what: problemWords.engine(label), todo: problemWords.engineTodo, remedy };
    case 'no-gpu':
      return { what: problemWords.noGpu(label), todo: problemWords.noGpuTodo, remedy };
    case 'failed':
      return { what: problemWords.unverified(label), todo: problemWords.unverifiedTodo, remedy };
    case 'paused':
      // It is what the owner wanted, unless nobody else answers.
      return isStuck
        ? { what: problemWords.paused(label), todo: problemWords.pausedTodo, remedy }
        : null;
    case 'verifying':
      return null;
  }
}

function downProblem(report: UpstreamReport, reason: string): Problem {
  const { label, baseUrl, id } = report;
  if (isLasting(reason)) return skipProblem(report, reason);
  const what = problemWords.down(label, reasonText(reason));
  if (isPool(report)) return { what, todo: problemWords.seeMachines, remedy: MACHINES };
  const place = baseUrl === null ? '' : problemWords.at(baseUrl);
  const todo = id === 'local' ? problemWords.startOrCorrect(place) : problemWords.check(place);
  return { what, todo, remedy: { kind: 'check', id, label } };
}

/** Verified machines serve Local: which of them fails, and why, only their page tells. */
function isPool({ id, baseUrl }: UpstreamReport): boolean {
  return id === 'local' && baseUrl === null;
}

function repair(report: UpstreamReport): Pick<Problem, 'todo' | 'remedy'> {
  const { baseUrl, circuit, id, label } = report;
  if (isPool(report)) return { todo: problemWords.seeMachines, remedy: MACHINES };
  const remedy: Remedy = { kind: 'check', id, label };
  const place = baseUrl === null ? '' : problemWords.at(baseUrl);
  if (id !== 'local') return { todo: problemWords.checkService(place), remedy };
  const isUnreachable = circuit.lastError !== null && reasonOf(circuit.lastError) === 'unreachable';
  const todo = isUnreachable ? problemWords.startEngine(place) : problemWords.checkEngine(place);
  return { todo, remedy };
}

function skipProblem(report: UpstreamReport, reason: string): Problem {
  const { label, model, id } = report;
  const check: Remedy = { kind: 'check', id, label };
  switch (reason) {
    case 'credentials':
      return {
        what: problemWords.key(label),
        todo: problemWords.keyTodo,
        remedy: settingsAt(report, remedyWords.changeKey),
      };
    case 'quota':
      return { what: problemWords.quota(label), todo: problemWords.quotaTodo, remedy: check };
    case 'model_not_found':
      return {
        what: problemWords.model(label, model),
        todo: problemWords.modelTodo,
        remedy: settingsAt(report, remedyWords.changeModel),
      };
    default:
      return {
        what: problemWords.skipped(label, reasonText(reason)),
        todo: problemWords.skippedTodo,
        remedy: check,
      };
  }
}

/** What ends a problem, or shows where to end it. */
type Remedy =
  | { readonly kind: 'settings'; readonly section: string; readonly word: string }
  | { readonly kind: 'machines' }
  /** Calls the upstream once: if it answers, requests go to it again. */
  | { readonly kind: 'check'; readonly id: UpstreamId; readonly label: string };

function RemedyButton({ remedy }: { readonly remedy: Remedy }) {
  switch (remedy.kind) {
    case 'settings':
      return (
        <Link hash={hashOf({ page: 'settings', section: remedy.section })} text={remedy.word} />
      );
    case 'machines':
      return (
        <Link hash={hashOf({ page: 'providers', filter: 'all' })} text={remedyWords.machines} />
      );
    case 'check':
      return <CheckButton id={remedy.id} label={remedy.label} />;
  }
}

function Link({ hash, text }: { readonly hash: string; readonly text: string }) {
  return (
    <a className="button remedy" href={hash}>
      {text}
    </a>
  );
}

function CheckButton({ id, label }: { readonly id: UpstreamId; readonly label: string }) {
  const { state, run } = useTest(id);
  const isRunning = state?.kind === 'running';
  return (
    <>
      <ControlButton
        className="button remedy"
        title={costHint(id)}
        aria-disabled={isRunning || undefined}
        onClick={() => void (!isRunning && run())}
      >
        {remedyWords.check}
        <span className="unseen"> {label}</span>
      </ControlButton>{' '}
      <TestResult state={state} isBrief />
    </>
  );
}
