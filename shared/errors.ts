/** The OpenAI error shape; `src` says that the gateway itself, not an upstream, failed. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string | null;
    readonly param: string | null;
  };
  readonly src?: 'gateway';
}

/** Error codes that the gateway's and the agent's servers share. */
export type ServerErrorCode =
  | 'invalid_request'
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'upgrade_required'
  | 'body_too_large'
  | 'request_timeout'
  | 'internal_error';

/** Error codes that only agents get, which act on them (docs/contributing/agent-protocol.md). */
type AgentMessageErrorCode =
  'invalid_signature' | 'clock_skew' | 'unknown_provider' | 'sequence_reused';

/** Codes of errors that an upstream caused and the gateway reports. */
export type UpstreamErrorCode =
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'upstream_error'
  | 'upstream_unavailable'
  | 'upstream_busy'
  | 'upstream_rate_limited'
  | 'upstream_quota'
  | 'upstream_credentials'
  | 'upstream_misconfigured'
  | 'upstream_bad_response'
  | 'model_not_found'
  | 'context_length_exceeded'
  | 'unsupported_endpoint'
  | 'no_upstream';

/** All error codes of the gateway; the last ones are about requests, their senders and machines. */
export type GatewayErrorCode =
  | ServerErrorCode
  | UpstreamErrorCode
  | AgentMessageErrorCode
  | 'invalid_api_key'
  | 'missing_api_key'
  | 'control_required'
  | 'invalid_code'
  | 'overloaded'
  | 'loop_detected'
  | 'not_configured'
  | 'zero_spend'
  | 'set_by_environment'
  | 'settings_unwritten'
  | 'not_shared'
  | 'cannot_listen'
  | 'package_unavailable'
  | 'key_exists'
  | 'key_limit_reached'
  | 'too_many_keys'
  | 'shutting_down'
  | 'invalid_token'
  | 'provider_not_found'
  | 'own_provider'
  | 'too_many_enrollments'
  | 'registry_unwritten'
  | 'agent_off'
  | 'join_failed'
  | 'freed'
  | 'requests_running'
  | 'engine_refused';

/** Anthropic's error types (docs.anthropic.com, API errors), by which its clients tell errors apart; 529 is Anthropic's own. */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

const ANTHROPIC_STATUSES: ReadonlyMap<unknown, number> = new Map(
  [...ANTHROPIC_TYPES].map(([status, type]) => [type, status]),
);

/** Null for what is none of its types. */
export const anthropicErrorStatus = (type: unknown): number | null =>
  ANTHROPIC_STATUSES.get(type) ?? null;

/** @param status 400 to 599 */
export function anthropicErrorType(status: number): string {
  return ANTHROPIC_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
