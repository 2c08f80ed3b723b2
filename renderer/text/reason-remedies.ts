import type { FallbackReason } from '#shared/reasons.ts';

type NamedReason = Exclude<FallbackReason, `http_${number}`>;

const DEEDS: Readonly<Record<NamedReason, string>> = {
  not_configured: 'is not set up',
  no_provider: 'had no machine available',
  circuit_open: 'had its circuit open',
  zero_spend: 'was skipped because it is paid',
  budget: 'had spent its budget',
  paused: 'was paused',
  disabled: 'was switched off',
  predicted_slow: 'was predicted to be slow',
  model_mismatch: 'is set to another model',
  unreachable: 'was unreachable',
  timeout: 'timed out',
  busy: 'was busy',
  rate_limited: 'was rate limited',
  quota: 'was out of quota',
  credentials: 'rejected the key',
  model_not_found: 'did not have the model',
  context_length: 'found the prompt too long for its context',
  unsupported_input: 'cannot read such input',
  unsupported: 'does not have this endpoint',
  bad_response: 'gave an unusable answer',
  gateway_exhausted: 'was not called, as the gateway had no connection left',
  outrun: 'was slow',
};

/** A fallback reason as a predicate, to follow the upstream's name. */
export function deedText(reason: string): string {
  const deeds: Readonly<Record<string, string>> = DEEDS;
  if (/^http_\d{3}$/.test(reason)) return `answered HTTP ${reason.slice(5)}`;
  return deeds[reason] ?? `failed: ${reason}`;
}
