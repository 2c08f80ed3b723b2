import type { FallbackReason } from '#shared/reasons.ts';

type NamedReason = Exclude<FallbackReason, `http_${number}`>;

const WORDS: Readonly<Record<NamedReason, string>> = {
  not_configured: 'not set up',
  no_provider: 'no machine available',
  circuit_open: 'circuit open',
  zero_spend: 'skipped: paid',
  budget: 'budget spent',
  paused: 'paused',
  disabled: 'switched off',
  predicted_slow: 'predicted slow',
  model_mismatch: 'another model',
  unreachable: 'unreachable',
  timeout: 'timed out',
  busy: 'busy',
  rate_limited: 'rate limited',
  quota: 'out of quota',
  credentials: 'key rejected',
  model_not_found: 'model not found',
  context_length: 'prompt too long',
  unsupported_input: 'input not supported',
  unsupported: 'endpoint not supported',
  bad_response: 'unusable answer',
  gateway_exhausted: 'gateway out of connections',
  outrun: 'lost the race',
};

/** A reason in words; one that is not on the list stands for itself. */
export function reasonText(reason: string): string {
  const words: Readonly<Record<string, string>> = WORDS;
  return words[reason] ?? (/^http_\d{3}$/.test(reason) ? `HTTP ${reason.slice(5)}` : reason);
}

/** The reason at the head of a circuit's last error, `unreachable: ECONNREFUSED …`, say. */
export function reasonOf(lastError: string): string {
  return lastError.split(': ', 1)[0] ?? lastError;
}
