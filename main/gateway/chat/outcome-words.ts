import type { FallbackReason } from '#shared/reasons.ts';
import {
  isUnconfigured,
  nameOf,
  reasonOf,
  type UpstreamOutcome,
} from '../routing/fallback-reasons.ts';

const WORDS: Readonly<Record<Exclude<FallbackReason, `http_${number}`>, string>> = {
  not_configured: 'not configured',
  no_provider: 'no machine is available',
  circuit_open: 'skipped after repeated failures',
  zero_spend: 'skipped, as only local may be called',
  budget: 'skipped, as its budget is spent',
  paused: 'paused by its owner',
  disabled: 'switched off',
  predicted_slow: 'skipped, as it would be slow',
  model_mismatch: 'set to another model',
  unreachable: 'unreachable',
  timeout: 'timed out',
  busy: 'busy',
  rate_limited: 'rate limited',
  quota: 'out of quota',
  credentials: 'its key was refused',
  model_not_found: 'does not have the model',
  context_length: 'the prompt is too long for it',
  unsupported_input: 'cannot read such input',
  unsupported: 'does not have this endpoint',
  gateway_exhausted: 'not reached, as this gateway has no file descriptor left',
  bad_response: 'gave an unusable answer',
  outrun: 'slower than another',
};

/** A sentence for each upstream that is configured; codes and numbers, never text from an upstream. */
export function sentencesFor(outcomes: readonly UpstreamOutcome[]): string {
  return outcomes
    .filter((outcome) => !isUnconfigured(outcome))
    .map((outcome) => ` ${nameOf(outcome)}: ${wordsFor(outcome)}.`)
    .join('');
}

function wordsFor(outcome: UpstreamOutcome): string {
  const reason = reasonOf(outcome);
  const words: Readonly<Record<string, string>> = WORDS;
  const named = words[reason] ?? 'answered';
  if (outcome.kind === 'skipped' && reason === 'no_provider' && outcome.causes !== undefined)
    return `${named} (${outcome.causes()})`;
  if (outcome.kind !== 'failed') return named;
  const { detail } = outcome.failure;
  return words[reason] === undefined ? `${named} ${detail}` : `${named} (${detail})`;
}
