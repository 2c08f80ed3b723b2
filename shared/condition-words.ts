import type { Condition, NoProviderCause } from './condition.ts';

/* An upstream's condition as a predicate that follows its name, for the tray, notices and the command line. */

const REASONS: Readonly<Record<string, string>> = {
  rate_limited: 'is rate limited',
  quota: 'is out of quota',
  budget: 'has spent its budget',
  credentials: 'refuses our key',
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
