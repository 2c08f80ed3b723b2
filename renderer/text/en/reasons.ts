import type { FallbackReason } from '#shared/reasons.ts';

type NamedReason = Exclude<FallbackReason, `http_${number}`>;

export const reasons = {
  not_configured: 'not set up',
  no_provider: 'down',
  circuit_open: 'paused (failing or slow)',
  zero_spend: 'costs money',
  budget: 'no budget left',
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

export const httpStatus = (status: string) => `HTTP ${status}`;
