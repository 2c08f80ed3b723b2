import type { ErrorBody } from '#shared/errors.ts';

/** Codes of errors that an upstream caused. */
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
  | 'no_upstream';

/** Codes of errors that the request or the gateway's own state caused. */
export type RequestErrorCode =
  | 'invalid_request'
  | 'invalid_api_key'
  | 'missing_api_key'
  | 'control_required'
  | 'invalid_code'
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'body_too_large'
  | 'request_timeout'
  | 'overloaded'
  | 'not_configured'
  | 'zero_spend'
  | 'set_by_environment'
  | 'settings_unwritten'
  | 'shutting_down'
  | 'internal_error';

/** Codes of the registry and the agent; agents act on most of them (docs/agent-protocol.md). */
export type ProviderErrorCode =
  | 'invalid_token'
  | 'invalid_signature'
  | 'clock_skew'
  | 'unknown_provider'
  | 'sequence_reused'
  | 'provider_not_found'
  | 'own_provider'
  | 'too_many_enrollments'
  | 'registry_unwritten'
  | 'agent_off'
  | 'join_failed';

/** An error that the gateway answers itself. */
export interface GatewayError {
  readonly status: number;
  readonly code: UpstreamErrorCode | RequestErrorCode | ProviderErrorCode;
  readonly message: string;
  readonly param?: string | null;
  /** Wait before a retry, in milliseconds; null if waiting does not help. */
  readonly retryAfterMs?: number | null;
}

/** In OpenAI's shape. */
export function errorBody(error: GatewayError): ErrorBody {
  return {
    error: {
      message: error.message,
      type: typeOf(error.status),
      code: error.code,
      param: error.param ?? null,
    },
    src: 'gateway',
  };
}

/** OpenAI's error types. Clients choose an error class by status; the type is for people. */
function typeOf(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 429:
      return 'rate_limit_error';
    default:
      return status < 500 ? 'invalid_request_error' : 'server_error';
  }
}

/** Content type, and whether and when a retry makes sense. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };
  if (typeof error.retryAfterMs === 'number') {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  } else if (error.status >= 500) {
    // OpenAI's clients retry twice by default; every upstream was tried already.
    headers['x-should-retry'] = 'false';
  }
  return headers;
}
