/** Why an upstream was not asked. */
export const SKIP_REASONS = [
  'not_configured',
  'no_provider',
  'circuit_open',
  'zero_spend',
  /** Its money budget for the day or the month is used up. */
  'budget',
  'paused',
  /** It is set to another model, and embeddings of different models cannot be compared. */
  'model_mismatch',
] as const;

/** Why an upstream that was asked did not give the answer; `http_<status>` exists besides these. */
export const FAILURE_REASONS = [
  /** Its owner ended what its machine was asked. */
  'paused',
  'unreachable',
  'timeout',
  'busy',
  'rate_limited',
  'quota',
  'credentials',
  'model_not_found',
  'context_length',
  /** Its engine has read only the beginning or the end of the prompt, without saying so. */
  'truncated',
  /** The request is larger than its body limit, its tokens a minute or its credits allow. */
  'request_too_large',
  /** An image, audio or video was sent to a model that only reads text. */
  'unsupported_input',
  /** Its model has no tools, no thinking, or whatever else the request uses. */
  'unsupported_feature',
  /** It flagged the prompt. */
  'moderation',
  /** It has no such endpoint. */
  'unsupported',
  'bad_response',
  /** The gateway had no file descriptor left for a connection. */
  'gateway_exhausted',
] as const;

/** Why an upstream that might still have answered was abandoned: another one's content came first. */
export const OUTRUN = 'outrun';

export type SkipReason = (typeof SKIP_REASONS)[number];
export type FailureReason = (typeof FAILURE_REASONS)[number] | `http_${number}`;

/** Everything that may follow the `=` in `X-Gateway-Fallback-Reason`. */
export type FallbackReason = SkipReason | FailureReason | typeof OUTRUN;

const LISTED: ReadonlySet<string> = new Set([...SKIP_REASONS, ...FAILURE_REASONS, OUTRUN]);

/** True for the values above, including `http_<3 digits>`. */
export function isFallbackReason(text: string): text is FallbackReason {
  return LISTED.has(text) || /^http_[1-9]\d\d$/.test(text);
}

const PREDICATES: Readonly<Record<Exclude<FallbackReason, `http_${number}`>, string>> = {
  not_configured: 'is not set up',
  no_provider: 'had no machine available',
  circuit_open: 'was paused (failing or slow)',
  zero_spend: 'was skipped because “Never spend money” is on',
  budget: 'had no budget left',
  paused: 'was held back by the owner',
  model_mismatch: 'does not serve the model',
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
};

/** What became of an upstream, such as "was unreachable". */
export function predicateOf(reason: string): string {
  const [, status] = /^http_(\d{3})$/.exec(reason) ?? [];
  if (status !== undefined) return `answered HTTP ${status}`;
  const words: Readonly<Record<string, string>> = PREDICATES;
  return words[reason] ?? `failed: ${reason}`;
}

/** One entry of `X-Gateway-Fallback-Reason`. */
interface FallbackEntry {
  readonly upstream: string;
  /** The machine of the local pool that it is about; null for the upstream as a whole. */
  readonly provider: string | null;
  readonly reason: string;
}

/** Reads a fallback reason value, without upstreams that are not set up; `none` has no entries. */
export function parseFallbackReason(value: string): readonly FallbackEntry[] {
  if (value === 'none') return [];
  return value
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry.includes('='))
    .map((entry) => {
      const [place = '', reason = ''] = entry.split('=');
      const [upstream = '', provider = null] = place.split('/');
      return { upstream, provider, reason };
    })
    .filter(({ reason }) => reason !== 'not_configured');
}
