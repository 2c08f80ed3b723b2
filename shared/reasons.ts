/** Why an upstream was not asked. */
export const SKIP_REASONS = [
  'not_configured',
  'no_provider',
  'circuit_open',
  'zero_spend',
  /** What may be spent there in a day or a month is spent. */
  'budget',
  'paused',
  'disabled',
  /** Its first token would have come too late, and somebody else could serve. */
  'predicted_slow',
  /** It is set to another model, and vectors of two models do not compare. */
  'model_mismatch',
] as const;

/** Why an upstream that was asked did not give the answer; `http_<status>` comes beside these. */
export const FAILURE_REASONS = [
  'unreachable',
  'timeout',
  'busy',
  'rate_limited',
  'quota',
  'credentials',
  'model_not_found',
  'context_length',
  /** A picture, audio or video to one that only reads text. */
  'unsupported_input',
  /** It has no such endpoint. */
  'unsupported',
  'bad_response',
  /** The gateway had no descriptor left for a connection. */
  'gateway_exhausted',
] as const;

/** Why an upstream that was asked and might have answered was left: another one's content came first. */
export const OUTRUN = 'outrun';

export type SkipReason = (typeof SKIP_REASONS)[number];
export type FailureReason = (typeof FAILURE_REASONS)[number] | `http_${number}`;

/** Everything that may stand behind the `=` in `X-Gateway-Fallback-Reason`. */
export type FallbackReason = SkipReason | FailureReason | typeof OUTRUN;

const LISTED: ReadonlySet<string> = new Set([...SKIP_REASONS, ...FAILURE_REASONS, OUTRUN]);

/** True for a member of the closed list, `http_<3 digits>` included. */
export function isFallbackReason(text: string): text is FallbackReason {
  return LISTED.has(text) || /^http_[1-9]\d\d$/.test(text);
}
