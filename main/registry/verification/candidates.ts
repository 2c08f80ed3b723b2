import type { AgentRecord } from '#shared/provider.ts';
import { visible } from '#shared/visible.ts';
import { urlHost } from '../../platform/http/addresses.ts';
import { canonicalIp } from '../../platform/network-guard.ts';

export type AddressCandidate = { readonly source: CandidateSource } &
  /** `origin`: as in `http://tower:47901`. */
  (
    | { readonly kind: 'usable'; readonly origin: string }
    /** `origin`: the part that may be shown; null if there is none. */
    | { readonly kind: 'unusable'; readonly origin: string | null; readonly error: string }
  );

/** In order of preference. */
export type CandidateSource = 'agent_url' | 'tailnet' | 'hostname' | 'heartbeat_ip';

export interface CandidateFacts {
  readonly record: {
    readonly agent_url: string;
    readonly host: Pick<AgentRecord['host'], 'hostname' | 'tailnet_hostname'>;
  };
  readonly lastHeartbeatIp: string;
}

/**
 * The agent URL, then the tailnet hostname, the machine's hostname and the address of the last heartbeat, each with the
 * agents' port. Duplicates are tried once.
 */
export function candidatesOf(
  { record, lastHeartbeatIp }: CandidateFacts,
  hostPort: number,
): readonly AddressCandidate[] {
  const { hostname, tailnet_hostname: tailnetHostname } = record.host;
  const all = [
    fromUrl(record.agent_url.trim()),
    fromName('tailnet', tailnetHostname ?? '', hostPort),
    fromName('hostname', hostname, hostPort),
    fromIp(lastHeartbeatIp, hostPort),
  ].filter((candidate) => candidate !== null);
  return all.filter(
    ({ origin }, index) => all.findIndex((other) => other.origin === origin) === index,
  );
}

function fromUrl(text: string): AddressCandidate | null {
  if (text === '') return null;
  const source = 'agent_url';
  const url = URL.parse(text);
  if (url === null) return { kind: 'unusable', source, origin: null, error: 'not a URL' };
  // A password or path chosen by someone else is neither sent nor shown.
  const origin = readable(`${url.protocol}//${url.host}`);
  if (url.username !== '' || url.password !== '') {
    const error = 'a user name or password is not allowed';
    return { kind: 'unusable', source, origin, error };
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return { kind: 'unusable', source, origin, error: 'a path is not allowed' };
  return { kind: 'usable', source, origin };
}

function fromName(
  source: 'tailnet' | 'hostname',
  text: string,
  hostPort: number,
): AddressCandidate | null {
  // Tailnet names are often written with a trailing dot.
  const name = text.trim().replace(/\.$/, '');
  if (name === '') return null;
  const url = /[\s/?#@\\:[\]]/.test(name) ? null : URL.parse(`http://${name}:${hostPort}`);
  if (url === null) return { kind: 'unusable', source, origin: null, error: 'not a host name' };
  return { kind: 'usable', source, origin: url.origin };
}

function fromIp(text: string, hostPort: number): AddressCandidate | null {
  const ip = canonicalIp(text);
  if (ip === null) return null;
  return { kind: 'usable', source: 'heartbeat_ip', origin: `http://${urlHost(ip)}:${hostPort}` };
}

/** Shortens text from outside to one line. */
export function readable(text: string): string {
  const plain = visible(text);
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain;
}
