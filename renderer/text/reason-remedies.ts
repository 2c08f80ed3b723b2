import type { FallbackReason } from '#shared/reasons.ts';

type NamedReason = Exclude<FallbackReason, `http_${number}`>;

const DEEDS: Readonly<Record<NamedReason, string>> = {
  not_configured: 'is not set up',
  no_provider: 'had no machine that can serve',
  circuit_open: 'had its breaker open',
  zero_spend: 'would have cost money',
  paused: 'was paused',
  disabled: 'was switched off',
  predicted_slow: 'would have been slow',
  unreachable: 'was unreachable',
  timeout: 'timed out',
  busy: 'was busy',
  rate_limited: 'had its rate limit reached',
  quota: 'had its quota used up',
  credentials: 'refused its key',
  model_not_found: 'did not know the model',
  context_length: 'found the prompt too long',
  unsupported_input: 'cannot read such input',
  bad_response: 'gave an unusable answer',
  outrun: 'was slow',
};

/** What somebody did who was left for a reason, to follow the name in a sentence. */
export function deedText(reason: string): string {
  const deeds: Readonly<Record<string, string>> = DEEDS;
  if (/^http_\d{3}$/.test(reason)) return `answered HTTP ${reason.slice(5)}`;
  return deeds[reason] ?? `was left: ${reason}`;
}
