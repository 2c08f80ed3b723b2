import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '../http/errors.ts';

/** What a request's headers are held against. */
export interface GuardRules {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The address that the connection came in on; as a literal it is a good `Host`. Asking for it is a system call. */
  readonly localAddress: () => string | undefined;
}

const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Refuses what a page elsewhere made a browser send: a foreign `Host` (DNS rebinding), a foreign
 * `Origin`, a cross-site fetch. Null when the request may pass (docs/security.md#entrances).
 */
export function refusal(headers: IncomingHttpHeaders, rules: GuardRules): GatewayError | null {
  const host = headers.host ?? '';
  if (!isHostAllowed(host, rules)) {
    return {
      status: 403,
      code: 'host_not_allowed',
      message: `The Host "${host.slice(0, 100)}" is not served here. Add it to SWITCHYARD_ALLOWED_HOSTS if it is yours.`,
    };
  }
  const { origin } = headers;
  if (origin !== undefined && isOwnOrigin(origin, host)) return null;
  if (origin !== undefined && rules.allowedOrigins.includes(origin)) return null;
  if (origin === undefined && headers['sec-fetch-site'] !== 'cross-site') return null;
  return {
    status: 403,
    code: 'origin_not_allowed',
    message: `Pages of ${origin === undefined ? 'other sites' : `"${origin.slice(0, 100)}"`} may not call this gateway. Add the origin to SWITCHYARD_ALLOWED_ORIGINS if it is yours.`,
  };
}

function isHostAllowed(host: string, { allowedHosts, localAddress }: GuardRules): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (LOOPBACK_NAME.test(name)) return true;
  const literal = (localAddress() ?? '').replace(/^::ffff:/, '');
  if (literal !== '' && (name === literal || name === `[${literal}]`)) return true;
  return allowedHosts.some((allowed) => allowed.toLowerCase() === name || allowed === host);
}

function isOwnOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** CORS headers: none, but for origins that the owner allowed. */
export function corsHeaders(
  headers: IncomingHttpHeaders,
  allowedOrigins: readonly string[],
): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !allowedOrigins.includes(origin)) return {};
  return {
    'access-control-allow-origin': origin,
    vary: 'Origin',
    'access-control-expose-headers':
      'X-Gateway-Upstream, X-Gateway-Fallback-Reason, X-Gateway-Request-Id, X-Gateway-Provider, Retry-After',
  };
}

/** Answer to a preflight from an allowed origin; it names what was asked for. */
export function preflightHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return {
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-allow-headers': headers['access-control-request-headers'] ?? 'content-type',
    'access-control-max-age': '600',
  };
}
