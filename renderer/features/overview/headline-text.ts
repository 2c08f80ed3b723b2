import { TIMES } from '../../text/en/nouns.ts';
import {
  type Arrival,
  CAUSES,
  type Condition,
  isArrival,
  isLasting,
  isSwitchedOff,
  NO_BUDGET,
  type NoProviderCause,
  passingIn,
} from '#shared/condition.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { AppInfo, DemoFault } from '#shared/live.ts';
import { budgetFault, clause, inSentence } from '#shared/services.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import type { Tone } from '../../text/en/states.ts';
import { counted, formatDuration, formatList } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import type { UpstreamList, UpstreamView } from './upstream-list.ts';

/* What the headline of the Overview says, and what can be done about each problem. */

export interface HeadlineText {
  /** The text before the subject, as in `Serving from `. */
  readonly lead: string;
  /** The coloured part of the sentence: the upstream, if there is one. */
  readonly subject: string;
  readonly rest: string;
  readonly tone: Tone;
  /** The lines that are shown if there are no problems, or if nobody answers. */
  readonly details: readonly string[];
  readonly problems: readonly Problem[];
  readonly isStuck: boolean;
}

const NOTHING = { subject: 'Nothing can answer now.' };

const ARRIVING: Readonly<Record<Arrival, string>> = {
  verifying: 'Requests are answered as soon as the test has passed.',
  loading: 'Requests are answered as soon as it is ready.',
};

export const UNREACHABLE: HeadlineText = {
  lead: '',
  subject: 'Gateway not reachable.',
  rest: '',
  tone: 'red',
  details: ['Apps get connection errors. Below is the last known state.'],
  problems: [],
  isStuck: false,
};

export function headlineOf(list: UpstreamList, demo?: AppInfo['demo']): HeadlineText {
  const { upstreams, verdict } = list;
  const isStuck = verdict.kind === 'stuck';
  const found = upstreams.flatMap((upstream) => {
    const its = slownessAt(upstream, list) ?? problemAt(upstream, isStuck);
    return its === null ? [] : [{ id: upstream.report.id, its }];
  });
  const broken = found.map(({ id, its }, index) => {
    if (demo === undefined) return its;
    return { ...its, todo: index === 0 ? healingOf(demo.faults[id]) : '', remedy: null };
  });
  const problems = isStuck ? [...broken, ...unpaid(upstreams)] : broken;
  return { ...sentenceFor(list), problems, isStuck };
}

const healingOf = (fault: DemoFault): string =>
  fault === 'none'
    ? 'Healed: choose “Try again now” below, or wait.'
    : 'Choose “healthy” below and watch the recovery.';

/** Why no money may be spent on sources that could answer. */
function unpaid(upstreams: readonly UpstreamView[]): readonly Problem[] {
  const todo = 'Without it, a fallback would answer.';
  const off = problem(`“${t.overview.neverSpend}” is on.`, todo, SPEND);
  const empty = upstreams.filter(
    ({ condition }) => condition.kind === 'zero-spend' && condition.by === 'budget',
  );
  return [...empty.map(({ report }) => usedUp(report)), ...(upstreams.some(isOff) ? [off] : [])];
}

const isOff = ({ condition }: UpstreamView): boolean => isSwitchedOff(condition);

type Sentence = Omit<HeadlineText, 'problems' | 'isStuck'>;

function say(
  tone: Tone,
  { lead = '', subject, rest = '' }: Partial<Sentence> & Pick<Sentence, 'subject'>,
  ...details: readonly string[]
): Sentence {
  return { lead, subject, rest, tone, details };
}

/** A sentence that begins with its subject. */
const does = (subject: string, predicate: string) => ({
  subject,
  rest: clause(subject, predicate).slice(subject.length),
});

function sentenceFor(list: UpstreamList): Sentence {
  const { verdict, upstreams, server } = list;
  switch (verdict.kind) {
    case 'bare':
      return say(
        'grey',
        { subject: 'Nothing is set up yet.' },
        'Tell Inglenook where a model runs: here, on another machine, or at a service.',
      );
    case 'arriving': {
      const local = upstreams.find(({ report }) => report.id === 'local');
      return say(
        'blue',
        does(local?.report.label ?? '', `${CAUSES[verdict.cause]}.`),
        ARRIVING[verdict.cause],
      );
    }
    case 'stuck': {
      const detail =
        server === null
          ? 'Requests are refused until a source is back.'
          : `Requests still try ${inSentence(server.report.label)} first.`;
      return say('red', NOTHING, detail);
    }
    case 'untested': {
      return say(
        'grey',
        does(server?.report.label ?? '', 'is next, but untested.'),
        'Test it below, or send the first request.',
      );
    }
    case 'serving':
      return server === null ? say('red', NOTHING) : serving(server, upstreams);
  }
}

function serving(server: UpstreamView, upstreams: readonly UpstreamView[]): Sentence {
  const { label, timeoutMs } = server.report;
  const details = detailLines(server, upstreams);
  switch (server.condition.kind) {
    case 'probe':
      return say('amber', does(label, 'is tried again with the next request.'), ...details);
    case 'on-demand': {
      const { warmup } = server.condition;
      if (warmup === 'ready') break;
      return say(
        'blue',
        does(label, warmup === 'warming' ? 'is starting.' : 'is next, and off.'),
        `Requests wait for it, up to ${formatDuration(timeoutMs)}.`,
      );
    }
    default:
  }
  // The line with the button to resume says that machines are held back.
  const before = upstreams
    .slice(0, upstreams.indexOf(server))
    .filter(({ condition }) => condition.kind !== 'missing' && !isHeldBack(condition));
  const rest = before.length === 0 ? '' : `. ${before.map(absenceOf).join('. ')}.`;
  const tone = server.waits === null ? 'green' : 'amber';
  return say(tone, { lead: 'Serving from ', subject: inSentence(label), rest }, ...details);
}

const isHeldBack = (condition: Condition): boolean =>
  condition.kind === 'no-provider' && condition.cause === 'paused';

const isSlow = (condition: Condition): boolean =>
  'cause' in condition && condition.cause === 'slow';

/** What becomes of an upstream that requests pass by. */
function absenceOf({ report: { label }, condition }: UpstreamView): string {
  if (condition.kind === 'zero-spend') return clause(label, NO_BUDGET);
  const why = condition.kind === 'skipped' ? reasonText(condition.reason) : 'too slow';
  const isSkipped = condition.kind === 'skipped' || isSlow(condition);
  return clause(label, passingIn(condition) ?? (isSkipped ? `is skipped (${why})` : 'is down'));
}

function detailLines(server: UpstreamView, upstreams: readonly UpstreamView[]): readonly string[] {
  const { model, circuit } = server.report;
  const speed =
    circuit.ewmaTtft === null ? '' : `first token in about ${formatDuration(circuit.ewmaTtft)}`;
  const behind = upstreams
    .slice(upstreams.indexOf(server) + 1)
    .filter(({ condition }) => condition.kind === 'closed' || condition.kind === 'on-demand')
    .map(({ report }) => report.label);
  const next =
    behind.length > 0
      ? `${behind.length === 1 ? 'Fallback' : 'Fallbacks'}: ${formatList(behind)}.`
      : upstreams.some(isOff)
        ? `“${t.overview.neverSpend}” is on, so there is no fallback.`
        : 'There is no fallback.';
  return [[model, speed].filter((part) => part !== '').join(' · '), next].filter(
    (line) => line !== '',
  );
}

interface Problem {
  readonly what: string;
  readonly todo: string;
  /** Null if there is nothing to press. */
  readonly remedy: Remedy | null;
}

/**
 * A page to go to, the switch to flip, what is to do if it is this machine, or the upstream to call once: if it answers,
 * requests go to it again.
 */
export type Remedy =
  Link | Saving | AtMachine | { readonly check: UpstreamId; readonly label: string };

const NEXT_STEPS = {
  silent: 'Check that the machines are on and can reach it.',
  engine: '',
  'no-gpu': 'Use the engine directly, or see Machines for what was tried.',
  failed: 'See Machines for the failed checks.',
  paused: '',
};
const SEE_MACHINES = 'See the machines.';

const problem = (what: string, todo: string, remedy: Problem['remedy']): Problem => ({
  what,
  todo,
  remedy,
});

export interface Link {
  readonly hash: string;
  readonly word: string;
}

const MACHINES: Link = {
  hash: hashOf({ page: 'providers', filter: 'all' }),
  word: 'Show machines',
};

export interface AtMachine {
  readonly cause: 'paused' | 'engine';
  /** Where to go if it is another machine than this one. */
  readonly elsewhere: Link;
}

/** A setting to save. */
export interface Saving {
  readonly saves: object;
  readonly word: string;
  /** What to set instead if the environment holds the setting. */
  readonly variable: string;
}

const SPEND: Remedy = {
  saves: { routing: { forceZero: false } },
  word: 'Switch it off',
  variable: 'INGLENOOK_FORCE_ZERO=false',
};

/** Your GPUs are skipped for slowness: mostly the model needs longer than the setting allows. */
function slownessAt({ report, condition }: UpstreamView, { slow }: UpstreamList): Problem | null {
  if (report.id !== 'local' || slow === null || !isSlow(condition)) return null;
  const { ttftMs, enoughMs } = slow;
  return problem(
    `${clause(report.label, 'is paused for slowness')}: the first token took ${formatDuration(ttftMs)}.`,
    '',
    {
      saves: { circuit: { ttftThresholdMs: enoughMs } },
      word: 'Wait longer for my GPU',
      variable: `INGLENOOK_TTFT_THRESHOLD_MS=${enoughMs}`,
    },
  );
}

const settingsAt = (section: string, field: string, word: string): Remedy => ({
  hash: hashOf({ page: 'settings', section, field }),
  word,
});

const raiseBudget = (id: UpstreamId, period: 'day' | 'month'): Remedy =>
  settingsAt(id, period === 'day' ? 'budgetDay' : 'budgetMonth', 'Raise budget');

const checkOf = ({ id, label }: UpstreamReport): Remedy => ({ check: id, label });

/**
 * An upstream's problem, or null. Without ticking figures, because a live region reads it aloud. `isStuck`: nobody
 * answers, so what passes by itself is told as well; otherwise the sentence tells it.
 */
function problemAt(upstream: UpstreamView, isStuck: boolean): Problem | null {
  const passing = passingIn(upstream.condition);
  if (passing === null) return lastingAt(upstream, isStuck);
  return isStuck ? problem(clause(upstream.report.label, `${passing}.`), '', null) : null;
}

const becauseOf = ({ reason }: UpstreamView): string =>
  reason === null ? '' : ` (${reasonText(reason)})`;

function lastingAt(upstream: UpstreamView, isStuck: boolean): Problem | null {
  const { condition, report } = upstream;
  const { label } = report;
  switch (condition.kind) {
    case 'cooling':
    case 'probe':
      return condition.cause === 'slow'
        ? problem(
            clause(label, `was too slow ${counted(condition.times, TIMES)} in a row.`),
            'Check what else is using it.',
            checkOf(report),
          )
        : repair(
            upstream,
            `${label} failed ${counted(condition.times, TIMES)} in a row${becauseOf(upstream)}.`,
          );
    case 'failing':
      return repair(upstream, clause(label, `is failing${becauseOf(upstream)}.`));
    case 'skipped': {
      const isTold = condition.reason === 'budget' || isLasting(condition.reason) || isStuck;
      return isTold ? skipProblem(report, condition.reason) : null;
    }
    case 'no-provider':
      return isArrival(condition.cause) ? null : noProviderProblem(label, condition.cause);
    case 'down':
      return downProblem(report, condition.reason);
    case 'on-demand':
      return condition.warmup === 'failed'
        ? problem(
            `${label} could not be started.`,
            'Check the endpoint at your GPU provider.',
            checkOf(report),
          )
        : budgetProblem(report);
    default:
      return budgetProblem(report);
  }
}

function usedUp({ id, label, budget }: UpstreamReport): Problem {
  const { limit = null, period = 'day' } = budget ?? {};
  const what = limit === 0 ? NO_BUDGET : `has spent its budget for the ${period}`;
  return problem(clause(label, `${what}.`), '', raiseBudget(id, period));
}

function budgetProblem(report: UpstreamReport): Problem | null {
  const { id, label, budget } = report;
  const fault = budgetFault(report);
  if (fault !== null)
    return problem(fault.happened, '', settingsAt(id, 'priceInput', 'Set prices'));
  if (budget === undefined || budget.limit === 0 || budget.spent < WARNED_SHARE * budget.limit)
    return null;
  return problem(
    clause(label, `has spent over 80% of its budget for the ${budget.period}.`),
    '',
    raiseBudget(id, budget.period),
  );
}

function noProviderProblem(label: string, cause: Exclude<NoProviderCause, Arrival>) {
  const isHere = cause === 'paused' || cause === 'engine';
  const what = clause(label, `${CAUSES[cause]}.`);
  return problem(what, NEXT_STEPS[cause], isHere ? { cause, elsewhere: MACHINES } : MACHINES);
}

function downProblem(report: UpstreamReport, reason: string): Problem {
  if (isLasting(reason)) return skipProblem(report, reason);
  const what = clause(report.label, `does not answer (${reasonText(reason)}).`);
  if (isPool(report)) return problem(what, SEE_MACHINES, MACHINES);
  const todo =
    report.id === 'local'
      ? (at: string) => `Start the engine${at}, or correct the address.`
      : (at: string) => `Check it${at}.`;
  return problem(what, todo(placeOf(report)), checkOf(report));
}

/** Several machines may serve `local`; only their page tells which of them fails, and why. */
const isPool = ({ id, baseUrl }: UpstreamReport): boolean => id === 'local' && baseUrl === null;

const placeOf = ({ baseUrl }: UpstreamReport): string => (baseUrl === null ? '' : ` at ${baseUrl}`);

function repair({ report, reason }: UpstreamView, what: string): Problem {
  const { id } = report;
  if (isPool(report)) return problem(what, SEE_MACHINES, MACHINES);
  const engine =
    reason === 'unreachable'
      ? (at: string) => `Start the engine${at}.`
      : (at: string) => `Check the engine${at}.`;
  const todo = id === 'local' ? engine : (at: string) => `Check its service${at}.`;
  return problem(what, todo(placeOf(report)), checkOf(report));
}

function skipProblem(report: UpstreamReport, reason: string): Problem {
  const { id, label, model } = report;
  switch (reason) {
    case 'budget':
      return usedUp(report);
    case 'credentials':
      return problem(
        `${label} rejected the API key.`,
        'Set a new one.',
        settingsAt(id, 'apiKey', 'Change key'),
      );
    case 'quota':
      return problem(clause(label, 'is out of quota.'), 'Top up the account.', checkOf(report));
    case 'model_not_found':
      return problem(
        clause(label, `does not have the model ${model || 'that was requested'}.`),
        'Choose another.',
        settingsAt(id, 'model', 'Change model'),
      );
    default:
      return problem(
        clause(label, `is skipped: ${reasonText(reason)}.`),
        'Requests go to it again once that is over.',
        checkOf(report),
      );
  }
}
