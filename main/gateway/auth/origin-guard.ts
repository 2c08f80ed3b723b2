import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from '../http/errors.ts';
import { isAllowedOrigin } from './allowed-origins.ts';

export interface GuardRules {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The connection's own address, which is valid as `Host`. A function, because it takes a system call. */
  readonly localAddress: () => string | undefined;
}

const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Refuses requests that a foreign page made a browser send: foreign `Host` (DNS rebinding), foreign `Origin`,
 * cross-site fetch. Null if the request is allowed (docs/security.md#entrances).
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
  if (origin !== undefined && isAllowedOrigin(origin, rules.allowedOrigins)) return null;
  if (origin === undefined && headers['sec-fetch-site'] !== 'cross-site') return null;
  return {
    status: 403,
    code: 'origin_not_allowed',
    message: originMessage(origin),
  };
}

function originMessage(origin: string | undefined): string {
  if (origin === undefined) {
    return 'Pages of other sites may not call this gateway. Add the origin of the page to SWITCHYARD_ALLOWED_ORIGINS if it is yours.';
  }
  const shown = origin.slice(0, 100);
  return `Pages of "${shown}" may not call this gateway. If it is yours, add it: SWITCHYARD_ALLOWED_ORIGINS=${shown}, or "Allowed web pages" in the window's Settings.`;
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

/** Empty unless the origin is allowed. */
export function corsHeaders(
  headers: IncomingHttpHeaders,
  allowedOrigins: readonly string[],
): Record<string, string> {
  const { origin } = headers;
  if (origin === undefined || !isAllowedOrigin(origin, allowedOrigins)) return {};
  return {
    'access-control-allow-origin': origin,
    vary: 'Origin',
    'access-control-expose-headers':
      'X-Gateway-Upstream, X-Gateway-Fallback-Reason, X-Gateway-Request-Id, X-Gateway-Provider, X-Gateway-Dropped, Retry-After',
  };
}

/** For an allowed origin; all requested headers are granted. */
export function preflightHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  // Chromium asks before a public page may reach a private address (Private Network Access).
  const isPrivate = headers['access-control-request-private-network'] === 'true';
  return {
    ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
    'access-control-allow-methods': 'GET, POST, PATCH, PUT, DELETE',
    'access-control-allow-headers': headers['access-control-request-headers'] ?? 'content-type',
    'access-control-max-age': '600',
  };
}
