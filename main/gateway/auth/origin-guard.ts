import type { IncomingHttpHeaders } from 'node:http';
import { hostname } from 'node:os';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import { isLoopbackHost } from '../../platform/http/addresses.ts';
import type { Log } from '../../platform/log.ts';
import type { GatewayError } from '../http/errors.ts';

interface GuardRules {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The connection's own address, which is valid as `Host`. A function, because it takes a system call. */
  readonly localAddress: () => string | undefined;
}

/**
 * Refuses requests that a foreign page made a browser send: foreign `Host` (DNS rebinding), foreign `Origin`, or
 * without one, as images and frames are fetched. Null if the request is allowed (docs/understand/security.md#what-is-protected).
 */
export function refusal(headers: IncomingHttpHeaders, rules: GuardRules): GatewayError | null {
  const host = headers.host ?? '';
  if (!isHostAllowed(host, rules)) {
    return {
      status: 403,
      code: 'host_not_allowed',
      message: `The Host "${host.slice(0, 100)}" is not served here. Add it to gateway.allowedHosts (INGLENOOK_ALLOWED_HOSTS) if it is yours.`,
    };
  }
  const { origin } = headers;
  if (origin !== undefined && isOwnOrigin(origin, host)) return null;
  if (origin !== undefined && isAllowedOrigin(origin, rules.allowedOrigins)) return null;
  if (origin === undefined && !isFetchedByOtherPage(headers)) return null;
  return { status: 403, code: 'origin_not_allowed', message: originMessage(origin) };
}

/** A page of another port is of the same site; its links to the window work, its images and frames do not. */
function isFetchedByOtherPage(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-dest': dest } = headers;
  if (site !== 'cross-site' && site !== 'same-site') return false;
  return dest !== 'document' || (site === 'cross-site' && !isFromOtherName(headers));
}

/** True for a link of the window at another name of loopback: tabs at one name cannot sign in those at the other. */
function isFromOtherName({ referer = '', host = '' }: IncomingHttpHeaders): boolean {
  const [from, to] = [URL.parse(referer), URL.parse(`http://${host}`)];
  const isLoopback = [from, to].every((url) => isLoopbackHost(url?.hostname ?? ''));
  return isLoopback && from?.port === to?.port;
}

function originMessage(origin: string | undefined): string {
  if (origin === undefined) {
    return 'Other web pages may not call this gateway. Add the origin of the page to gateway.allowedOrigins (INGLENOOK_ALLOWED_ORIGINS) if it is yours.';
  }
  const shown = origin.slice(0, 100);
  return `Pages of "${shown}" may not call this gateway. If it is yours, add it: INGLENOOK_ALLOWED_ORIGINS=${shown}, or "Allowed web pages" in the dashboard's Settings.`;
}

function isHostAllowed(host: string, { allowedHosts, localAddress }: GuardRules): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (isLoopbackHost(name)) return true;
  const literal = (localAddress() ?? '').replace(/^::ffff:/, '');
  if (literal !== '' && (name === literal || name === `[${literal}]`)) return true;
  if (allowedHosts.some((allowed) => allowed.toLowerCase() === name || allowed === host))
    return true;
  return isOwnName(name) && !isLoopbackHost(literal);
}

/**
 * The machine's name, also as mDNS has it: what people of its network type. They need a key. On loopback, where a browser of this
 * machine may need none, a name that another machine could claim is not enough.
 */
function isOwnName(name: string): boolean {
  const own = hostname()
    .toLowerCase()
    .replace(/\.local$/, '');
  return own !== '' && (name === own || name === `${own}.local`);
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
    'access-control-expose-headers': EXPOSED,
  };
}

const PASSED = ['x-request-id', 'x-should-retry', 'retry-after', 'retry-after-ms'];
const EXPOSED = [...Object.values(ANSWER_HEADERS), ...PASSED].join(', ');

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

/**
 * Whether one of the patterns covers the origin of a page: the origin itself, `http://localhost:*` (any port, or
 * none) or `app://*` (all pages of an app's own scheme).
 */
function isAllowedOrigin(origin: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => covers(pattern, origin));
}

function covers(pattern: string, origin: string): boolean {
  if (pattern === origin) return true;
  const [known, asked] = [pattern.toLowerCase(), origin.toLowerCase()];
  if (known.endsWith('://*')) return asked.startsWith(known.slice(0, -1));
  if (!known.endsWith(':*')) return known === asked;
  return asked.replace(/:\d+$/, '') === known.slice(0, -2);
}

/** Callers can send any number of origins; further ones are not logged. */
const MAX_LOGGED = 100;
const MAX_SHOWN_CHARS = 100;

/** A browser tells its user "CORS error" and no more, so the log names each refused origin once. */
export function logRefusedOrigins(log: Log): (origin: string) => void {
  const logged = new Set<string>();
  return (origin) => {
    const shown = origin.slice(0, MAX_SHOWN_CHARS);
    if (logged.has(shown) || logged.size >= MAX_LOGGED) return;
    logged.add(shown);
    log('warn', 'origin_refused', { origin: shown, setting: 'INGLENOOK_ALLOWED_ORIGINS' });
  };
}
