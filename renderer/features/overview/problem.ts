import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { NoProviderCause } from './condition.ts';
import type { Station } from './upstream-list.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import { isLasting } from './upstream-status-text.ts';
import { t } from '../../text/t.ts';

/** A problem and its remedy. */
export interface Problem {
  readonly what: string;
  readonly todo: string;
}

const words = t.overview.problems;

/** An upstream's problem, or null. Without ticking figures, because a live region reads it aloud. */
export function problemAt(station: Station): Problem | null {
  const { condition, report } = station;
  const { label, circuit } = report;
  const because =
    circuit.lastError === null ? '' : words.because(reasonText(reasonOf(circuit.lastError)));
  switch (condition.kind) {
    case 'cooling':
    case 'probe':
      return {
        what: isSlow(station)
          ? words.slow(label, circuit.consecutiveSlow)
          : words.failed(label, circuit.consecutiveFails, because),
        todo: repair(station),
      };
    case 'failing':
      return { what: words.failing(label, because), todo: repair(station) };
    case 'skipped':
      if (condition.reason === 'budget') return budgetProblem(report);
      return isLasting(condition.reason) ? skipProblem(station, condition.reason) : null;
    case 'no-provider':
      return noProviderProblem(label, condition.cause);
    case 'down':
      return downProblem(station, condition.reason);
    case 'on-demand':
      return condition.warmup === 'failed'
        ? { what: words.notStarted(label), todo: words.notStartedTodo }
        : null;
    default:
      return nearBudget(report);
  }
}

function nearBudget(report: UpstreamReport): Problem | null {
  const { label, budget } = report;
  if (budget === undefined || budget.spent < WARNED_SHARE * budget.limit) return null;
  return { what: words.nearBudget(label, budget.period), todo: raiseBudget(report) };
}

function budgetProblem(report: UpstreamReport): Problem {
  const what = words.budget(report.label, report.budget?.period ?? 'day');
  return { what, todo: raiseBudget(report) };
}

function raiseBudget({ id, budget }: UpstreamReport): string {
  const name = `SWITCHYARD_${id.toUpperCase()}_BUDGET_${budget?.period.toUpperCase() ?? 'DAY'}`;
  return words.budgetTodo(name);
}

function noProviderProblem(label: string, cause: NoProviderCause): Problem | null {
  switch (cause) {
    case 'silent':
      return { what: words.silent(label), todo: words.silentTodo };
    case 'engine':
      return { what: words.engine(label), todo: words.engineTodo };
    case 'no-gpu':
      return { what: words.noGpu(label), todo: words.noGpuTodo };
    case 'failed':
      return { what: words.unverified(label), todo: words.unverifiedTodo };
    case 'verifying':
      return null;
  }
}

function downProblem(station: Station, reason: string): Problem {
  const { label, baseUrl, id } = station.report;
  if (reason === 'credentials') return skipProblem(station, reason);
  const place = baseUrl === null ? '' : words.at(baseUrl);
  const todo = id === 'local' ? words.startOrCorrect(place) : words.check(place);
  return { what: words.down(label, reasonText(reason)), todo };
}

function isSlow({ report }: Station): boolean {
  return report.circuit.consecutiveFails === 0;
}

function repair(station: Station): string {
  const { baseUrl, circuit, id } = station.report;
  if (isSlow(station)) return words.checkUse;
  const place = baseUrl === null ? '' : words.at(baseUrl);
  if (id !== 'local') return words.checkService(place);
  return circuit.lastError !== null && reasonOf(circuit.lastError) === 'unreachable'
    ? words.startEngine(place)
    : words.checkEngine(place);
}

function skipProblem({ report }: Station, reason: string): Problem {
  const { label, id, model } = report;
  const place = (name: string): string => words.setting(`SWITCHYARD_${id.toUpperCase()}_${name}`);
  switch (reason) {
    case 'credentials':
      return { what: words.key(label), todo: words.keyTodo(place('API_KEY')) };
    case 'quota':
      return { what: words.quota(label), todo: words.quotaTodo };
    case 'model_not_found':
      return { what: words.model(label, model), todo: words.modelTodo(place('MODEL')) };
    default:
      return { what: words.skipped(label, reasonText(reason)), todo: '' };
  }
}
