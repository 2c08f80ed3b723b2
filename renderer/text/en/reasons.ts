import type { FallbackReason } from '#shared/reasons.ts';

type NamedReason = Exclude<FallbackReason, `http_${number}`>;

export const reasons = {
  not_configured: 'not set up',
  no_provider: 'no machine available',
  circuit_open: 'paused (failing or slow)',
  zero_spend: 'costs money',
  budget: 'budget spent',
  paused: 'held back by the owner',
  model_mismatch: 'another model',
  /** Also where TLS fails; Node's own code stands behind it (main/platform/http/tls-and-socket-failures.ts). */
  unreachable: 'unreachable',
  timeout: 'timed out',
  busy: 'busy',
  rate_limited: 'rate limited',
  quota: 'out of quota',
  credentials: 'key rejected',
  model_not_found: 'model not found',
  context_length: 'prompt too long',
  truncated: 'prompt cut',
  request_too_large: 'request too large',
  unsupported_input: 'input not supported',
  unsupported_feature: 'feature not supported',
  moderation: 'prompt flagged',
  unsupported: 'endpoint not supported',
  bad_response: 'broken or unusable answer',
  gateway_exhausted: 'gateway out of connections',
  outrun: 'lost the race',
  /** Occurs only in tests of an upstream. */
  starting: 'starting up',
  /** Occurs only for a machine. */
  verification: 'test failed',
} satisfies Record<NamedReason | 'starting' | 'verification', string> as Readonly<
  Record<string, string>
>;

export const predicates = {
  not_configured: 'is not set up',
  no_provider: 'had no machine available',
  circuit_open: 'was paused (failing or slow)',
  zero_spend: 'was skipped because it costs money',
  budget: 'had spent its budget',
  paused: 'was held back by the owner',
  model_mismatch: 'is set to another model',
  unreachable: 'was unreachable',
  timeout: 'timed out',
  busy: 'was busy',
  rate_limited: 'was rate limited',
  quota: 'was out of quota',
  credentials: 'rejected the key',
  model_not_found: 'did not have the model',
  context_length: 'had too small a window for the prompt',
  truncated: 'read only a part of the prompt',
  request_too_large: 'found the request too large for its limits',
  unsupported_input: 'cannot read such input',
  unsupported_feature: 'lacks a feature that the request uses',
  moderation: 'flagged the prompt',
  unsupported: 'does not have this endpoint',
  bad_response: 'gave a broken or unusable answer',
  gateway_exhausted: 'was not called, as the gateway had no connection left',
  outrun: 'was slow',
} satisfies Record<NamedReason, string> as Readonly<Record<string, string>>;

export const httpStatus = (status: string) => `HTTP ${status}`;
export const answeredStatus = (status: string) => `answered HTTP ${status}`;
export const failedBecause = (reason: string) => `failed: ${reason}`;
