import type { ErrorBody, RegistryErrorCode, ServerErrorCode } from '#shared/errors.ts';
import { errorBodyFrom, type HttpError, retryAfterHeader } from '../../platform/http/responses.ts';

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
  | 'no_upstream';

/** Codes of errors that the request itself, or its sender, caused. */
type RequestErrorCode =
  | ServerErrorCode
  | 'invalid_api_key'
  | 'missing_api_key'
  | 'control_required'
  | 'invalid_code'
  | 'request_timeout'
  | 'overloaded'
  | 'not_configured'
  | 'zero_spend'
  | 'set_by_environment'
  | 'settings_unwritten'
  | 'not_shared'
  | 'package_unavailable'
  | 'shutting_down';

/** Codes of errors about machines. */
type ProviderErrorCode = RegistryErrorCode | 'agent_off' | 'join_failed';

/** An error of the gateway's own, ready to be sent. */
export interface GatewayError extends HttpError {
  readonly code: UpstreamErrorCode | RequestErrorCode | ProviderErrorCode;
}

/** The body for an error, in OpenAI's shape. */
export const errorBody = (error: GatewayError): ErrorBody => errorBodyFrom(error, 'gateway');

/** When to try again, or that trying again does not help. */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers = retryAfterHeader(error);
  // Clients retry twice by themselves; every upstream was already tried.
  const isFinal = error.status >= 500 && typeof error.retryAfterMs !== 'number';
  return isFinal ? { 'x-should-retry': 'false' } : headers;
}
