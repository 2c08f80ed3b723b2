import type { Condition, Judgement, NoProviderCause } from './condition.ts';
import { UPSTREAM_IDS, type UpstreamId } from './ids.ts';

/* The judgement in words, for the tray, notices and the command line; the window has its own catalogue. */

const REASONS: Readonly<Record<string, string>> = {
  rate_limited: 'is rate limited',
  quota: 'is out of quota',
  budget: 'has spent its budget',
  credentials: 'rejects your key',
  busy: 'is busy',
  model_not_found: 'does not know the model',
  unreachable: 'is unreachable',
  timeout: 'does not answer in time',
  bad_response: 'gives unusable answers',
  verification: 'failed its last verification',
};

const CAUSES: Readonly<Record<NoProviderCause, string>> = {
  verifying: 'is being verified',
  paused: 'is paused on its machines',
  engine: 'has no running engine',
  'no-gpu': 'has a machine without a GPU',
  failed: 'has no machine that passed verification',
  silent: 'has no machine that reports',
};

/** What the next request will meet, in a sentence without its full stop. */
export function verdictText(
  { verdict, conditions }: Judgement,
  nameOf: (id: UpstreamId) => string,
): string {
  switch (verdict.kind) {
    case 'bare':
      return 'Nothing is configured';
    case 'verifying':
      return 'Local is being verified';
    case 'stuck':
      return `Nothing can answer: ${whyNot(conditions, nameOf)}`;
    case 'serving':
    case 'untested':
      return servingText(conditions[verdict.by], nameOf(verdict.by));
  }
}

function servingText(condition: Condition, name: string): string {
  if (condition.kind === 'untested') return `${name} is next, but untested`;
  if (condition.kind === 'probe') return `${name} is retried with the next request`;
  if (condition.kind !== 'on-demand' || condition.warmup === 'ready') return `Serving from ${name}`;
  return condition.warmup === 'warming' ? `${name} is starting up` : `${name} is next (cold start)`;
}

function whyNot(conditions: Judgement['conditions'], nameOf: (id: UpstreamId) => string): string {
  const isOut = (id: UpstreamId) =>
    conditions[id].kind !== 'missing' && conditions[id].kind !== 'zero-spend';
  const [first, ...rest] = UPSTREAM_IDS.filter(isOut);
  if (first === undefined) return '“Local only” is on, and Local is not set up';
  const others = rest.length === 0 ? '' : `, and ${rest.length} more cannot`;
  return `${nameOf(first)} ${troubleIn(conditions[first]) ?? 'cannot serve'}${others}`;
}

/** Why an upstream is not known to answer; null for one that is. */
export function troubleIn(condition: Condition): string | null {
  switch (condition.kind) {
    case 'missing':
      return 'is not set up';
    case 'no-provider':
      return CAUSES[condition.cause];
    case 'zero-spend':
      return 'is paid, and no money may be spent';
    case 'skipped':
      return REASONS[condition.reason] ?? `is skipped (${condition.reason})`;
    case 'cooling':
    case 'probe':
      return condition.cause === 'slow' ? 'was too slow' : 'keeps failing';
    case 'failing':
      return 'is failing';
    case 'down':
      return REASONS[condition.reason] ?? `does not answer (${condition.reason})`;
    case 'on-demand':
      return condition.warmup === 'failed' ? 'could not be started' : null;
    case 'untested':
    case 'closed':
      return null;
  }
}
