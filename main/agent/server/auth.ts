import type { IncomingMessage } from 'node:http';
import { isOneOf, isSecretShaped } from '../../platform/secrets.ts';
import type { AgentError } from './errors.ts';

export interface AccessRules {
  /** Names of this machine, besides loopback names and the local address of the connection. */
  readonly hostNames: () => readonly string[];
  /** Digests of the tokens that gateways may send. */
  readonly tokenDigests: () => readonly Buffer[];
}

const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/;
/** Requests with these headers came from another machine, through a proxy on this one. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** Tells a gateway that its token was refused, not its caller's API key. */
const REFUSED_BY_AGENT = { 'x-gateway-agent': 'unauthorized' };

/** `stranger`: may only ask for a proof of this agent's identity. */
export type CallerAccess =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'stranger' | 'refused'; readonly error: AgentError };

/**
 * Refuses a foreign `Host` (DNS rebinding), browser pages and a wrong token. Other machines without a token are
 * strangers: a gateway sends its token only after the agent has proved its key.
 */
export function accessOf(req: IncomingMessage, rules: AccessRules): CallerAccess {
  const error = foreignSender(req, rules);
  if (error !== null) return { kind: 'refused', error };
  if (isAuthorized(req, rules)) return { kind: 'allowed' };
  const hasToken = req.headers['x-gateway-token'] !== undefined;
  return { kind: hasToken ? 'refused' : 'stranger', error: UNAUTHORIZED };
}

function foreignSender(req: IncomingMessage, rules: AccessRules): AgentError | null {
  const host = req.headers.host ?? '';
  if (!isHostAllowed(host, req.socket.localAddress ?? '', rules)) {
    return {
      status: 403,
      code: 'host_not_allowed',
      message: `The Host "${host.slice(0, 100)}" is not a name of this machine. Use its address, or add the name to SWITCHYARD_ALLOWED_HOSTS here.`,
      headers: REFUSED_BY_AGENT,
    };
  }
  if (req.headers.origin !== undefined || req.headers['sec-fetch-site'] === 'cross-site') {
    return {
      status: 403,
      code: 'origin_not_allowed',
      message: "Web pages may not call a machine's agent; call the gateway instead.",
      headers: REFUSED_BY_AGENT,
    };
  }
  return null;
}

const UNAUTHORIZED: AgentError = {
  status: 401,
  code: 'unauthorized',
  message:
    'This agent serves the gateway that it is enrolled with, and programs on its own machine. A gateway sends its token as X-Gateway-Token; if yours does, join this machine to it again.',
  headers: REFUSED_BY_AGENT,
};

function isHostAllowed(host: string, localAddress: string, { hostNames }: AccessRules): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (LOOPBACK_NAME.test(name)) return true;
  const literal = localAddress.replace(/^::ffff:/, '').toLowerCase();
  if (literal !== '' && (name === literal || name === `[${literal}]`)) return true;
  return hostNames().some((known) => known.toLowerCase() === name || `[${known}]` === name);
}

function isAuthorized(
  { headers, socket }: IncomingMessage,
  { tokenDigests }: AccessRules,
): boolean {
  const token = headers['x-gateway-token'];
  if (token === undefined) {
    const isForwarded = PROXY_HEADERS.some((name) => headers[name] !== undefined);
    return !isForwarded && LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '');
  }
  // A wrong token is refused on loopback too: the gateway must learn that the agent has to enrol again.
  return typeof token === 'string' && isSecretShaped(token) && isOneOf(token, tokenDigests());
}
