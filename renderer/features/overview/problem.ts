import type { UpstreamReport } from '#shared/status.ts';
import { formatPlural } from '../../text/format.ts';
import type { NoProviderCause } from './condition.ts';
import type { Station } from './upstream-list.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import { isLasting } from './upstream-status-text.ts';

/** Something that is broken, and what to do about it. */
export interface Problem {
  readonly what: string;
  readonly todo: string;
}

/** Null when nothing is wrong. No ticking figures: a live region reads it aloud. */
export function problemAt(station: Station): Problem | null {
  const { condition, report } = station;
  const { label, circuit } = report;
  const error = circuit.lastError === null ? '' : ` (${reasonText(reasonOf(circuit.lastError))})`;
  switch (condition.kind) {
    case 'cooling':
    case 'probe':
      return {
        what: isSlow(station)
          ? `${label} was too slow ${formatPlural(circuit.consecutiveSlow, 'time')} in a row.`
          : `${label} failed ${formatPlural(circuit.consecutiveFails, 'time')} in a row${error}.`,
        todo: repair(station),
      };
    case 'failing':
      return { what: `${label} is failing${error}.`, todo: repair(station) };
    case 'skipped':
      if (condition.reason === 'budget') return budgetProblem(report);
      return isLasting(condition.reason) ? skipProblem(station, condition.reason) : null;
    case 'no-provider':
      return noProviderProblem(label, condition.cause);
    case 'down':
      return downProblem(station, condition.reason);
    case 'on-demand':
      return condition.warmup === 'failed'
        ? {
            what: `${label} could not be started.`,
            todo: 'Check the endpoint at your GPU provider.',
          }
        : null;
    default:
      return nearBudget(report);
  }
}

/** The same share as the gateway's log. */
const WARNED_SHARE = 0.8;

function nearBudget(report: UpstreamReport): Problem | null {
  const { label, budget } = report;
  if (budget === undefined || budget.spent < WARNED_SHARE * budget.limit) return null;
  const what = `${label} has spent over 80 % of its budget for the ${budget.period}.`;
  return { what, todo: raiseBudget(report) };
}

function budgetProblem(report: UpstreamReport): Problem {
  const period = report.budget?.period ?? 'day';
  const what = `${report.label} has spent its budget for the ${period}.`;
  return { what, todo: raiseBudget(report) };
}

function raiseBudget({ id, budget }: UpstreamReport): string {
  const name = `SWITCHYARD_${id.toUpperCase()}_BUDGET_${budget?.period.toUpperCase() ?? 'DAY'}`;
  return `To raise it: Settings, or ${name}.`;
}

function noProviderProblem(label: string, cause: NoProviderCause): Problem | null {
  switch (cause) {
    case 'silent':
      return {
        what: `${label} has no machine available: no heartbeat reaches this gateway.`,
        todo: 'Check that the machines are on and can reach it.',
      };
    case 'engine':
      return { what: `${label} has no running engine.`, todo: 'Start one of its engines.' };
    case 'no-gpu':
      return {
        what: `${label} has an engine, but no GPU was found beside it.`,
        todo: 'Use the engine directly, or see Providers for what was tried.',
      };
    case 'failed':
      return {
        what: `${label} has no machine available: verification failed.`,
        todo: 'See Providers for the failed checks.',
      };
    case 'verifying':
      return null;
  }
}

function downProblem(station: Station, reason: string): Problem {
  const { label, baseUrl, id } = station.report;
  if (reason === 'credentials') return skipProblem(station, reason);
  const place = baseUrl === null ? '' : ` at ${baseUrl}`;
  const todo =
    id === 'local' ? `Start its engine${place}, or correct the address.` : `Check it${place}.`;
  return { what: `${label} does not answer (${reasonText(reason)}).`, todo };
}

function isSlow({ report }: Station): boolean {
  return report.circuit.consecutiveFails === 0;
}

function repair(station: Station): string {
  const { baseUrl, circuit, id } = station.report;
  if (isSlow(station)) return 'Check what else is using it.';
  const place = baseUrl === null ? '' : ` at ${baseUrl}`;
  if (id !== 'local') return `Check its service${place}.`;
  return circuit.lastError !== null && reasonOf(circuit.lastError) === 'unreachable'
    ? `Start its engine${place}.`
    : `Check its engine${place}.`;
}

function skipProblem({ report }: Station, reason: string): Problem {
  const { label, id, model } = report;
  const place = (name: string): string => `Settings, or SWITCHYARD_${id.toUpperCase()}_${name}`;
  switch (reason) {
    case 'credentials':
      return {
        what: `${label} rejected the API key.`,
        todo: `Set a new one: ${place('API_KEY')}.`,
      };
    case 'quota':
      return { what: `${label} is out of quota.`, todo: 'Top up the account.' };
    case 'model_not_found':
      return {
        what: `${label} does not have the model ${model || 'that was requested'}.`,
        todo: `Change it: ${place('MODEL')}.`,
      };
    default:
      return { what: `${label} is skipped: ${reasonText(reason)}.`, todo: '' };
  }
}
