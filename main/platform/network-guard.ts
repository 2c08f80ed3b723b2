import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { codeOf, isExhausted } from './errors.ts';

/** Which of the addresses that others have sent may be connected to. */
export interface AddressPolicy {
  /** Whether loopback is allowed: only for an address that was received over loopback. */
  readonly loopback: boolean;
  readonly ports: readonly number[];
  /** Further ports, only if every address is loopback. */
  readonly loopbackPorts: readonly number[];
}

/** The addresses of a name, as the system resolves it. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** A URL with the one address that may be connected to. */
export interface CheckedUrl {
  readonly url: URL;
  /** An IP address without brackets. */
  readonly address: string;
}

type CheckedResult =
  | { readonly kind: 'allowed'; readonly checked: CheckedUrl }
  | { readonly kind: 'refused'; readonly error: string }
  /** No file descriptor was left to resolve the name. */
  | { readonly kind: 'exhausted' };

/** The operating system's resolver, hosts file included. */
export const systemLookup: Lookup = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);

/** Ranges of the IANA special-purpose registries, and the metadata services of clouds. */
const FORBIDDEN: readonly (readonly [why: string, ...ranges: string[]])[] = [
  [
    'metadata service',
    '169.254.169.254/32',
    // Alibaba, Azure's host agent, Oracle; AWS, Google and Scaleway over IPv6.
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fd00:ec2::/32',
    'fd20:ce::/32',
    'fd00:42::42/128',
  ],
  ['link-local', '169.254.0.0/16', 'fe80::/10'],
  ['site-local', 'fec0::/10'],
  ['multicast', '224.0.0.0/4', 'ff00::/8'],
  ['broadcast', '255.255.255.255/32'],
  ['unspecified', '0.0.0.0/32', '::/128'],
  ['reserved', '0.0.0.0/8', '192.0.0.0/24', '240.0.0.0/4', '100::/64'],
];

const LOOPBACK = blockList(['127.0.0.0/8']);
const BLOCKED = FORBIDDEN.map(([why, ...ranges]) => ({ why, list: blockList(ranges) }));

/** IPv6 forms of IPv4 addresses that no host name needs; they would only bypass the IPv4 rules. */
const IPV4_AS_IPV6 = blockList([
  // Mapped, translated, compatible; NAT64 with a prefix of its own (RFC 8215); Teredo.
  '::ffff:0:0/96',
  '::ffff:0:0:0/96',
  '::/96',
  '64:ff9b:1::/48',
  '2001::/32',
]);

/** The ranges, those of IPv4 also in the IPv6 forms that networks use: NAT64 and 6to4. */
function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits = ''] = range.split('/');
    if (isIP(net) === 6) list.addSubnet(net, Number(bits), 'ipv6');
    else {
      const groups = canonicalIpv6(`::ffff:${net}`).slice('::ffff:'.length);
      list.addSubnet(net, Number(bits), 'ipv4');
      list.addSubnet(`64:ff9b::${net}`, 96 + Number(bits), 'ipv6');
      list.addSubnet(`2002:${groups}::`, 16 + Number(bits), 'ipv6');
    }
  }
  return list;
}

/** Why an IP address may not be connected to, in a word or two; null if it may. */
export function refusalOf(address: string, policy: Pick<AddressPolicy, 'loopback'>): string | null {
  if (address.includes('%')) return 'link-local';
  const version = isIP(address);
  if (version === 0) return 'not an IP address';
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (isLoopback(address)) return policy.loopback ? null : 'loopback';
  const blocked = BLOCKED.find(({ list }) => list.check(address, family));
  if (blocked !== undefined) return blocked.why;
  if (version === 4) return null;
  if (IPV4_AS_IPV6.check(address, 'ipv6')) return 'IPv4 written as IPv6';
  return LOOPBACK.check(address, 'ipv6') ? 'loopback' : null;
}

/** Recognises every notation of the address. */
export function isLoopback(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return LOOPBACK.check(address, 'ipv4');
  return version === 6 && canonicalIp(address) === '::1';
}

/** The canonical text of an IP address; null for other texts. IPv4 in IPv6 notation, as dual-stack sockets report it, becomes IPv4. */
export function canonicalIp(address: string): string | null {
  if (isIP(address) !== 6 || address.includes('%')) return isIP(address) === 4 ? address : null;
  const text = canonicalIpv6(address);
  const mapped = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(text);
  if (mapped === null) return text;
  const [high = 0, low = 0] = mapped.slice(1).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** Why a URL may not be requested, judged by its text alone; null if its name may be resolved. */
function refusalOfUrl(url: URL, policy: AddressPolicy): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return `${url.protocol.slice(0, -1)} is not allowed (http or https)`;
  }
  if (url.username !== '' || url.password !== '') return 'a user name or password is not allowed';
  const port = portOf(url);
  if (policy.ports.includes(port) || policy.loopbackPorts.includes(port)) return null;
  return `port ${port} is not allowed (${policy.ports.join(' or ')})`;
}

/** A host without the brackets that an IPv6 address has in a URL only. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/**
 * Resolves a URL's name once and returns the address to connect to. Every address of the name must be allowed:
 * a mix of allowed and forbidden ones is a sign of DNS rebinding.
 */
export async function resolveChecked(
  url: URL,
  policy: AddressPolicy,
  resolve: Lookup,
): Promise<CheckedResult> {
  const refusal = refusalOfUrl(url, policy);
  if (refusal !== null) return refused(refusal);
  const found = await addressesOf(url, resolve);
  if (found.kind !== 'found') return found;
  for (const address of found.addresses) {
    const why = refusalOf(address, policy);
    if (why !== null) return refused(`address not allowed: ${why}`);
  }
  if (!policy.ports.includes(portOf(url)) && !found.addresses.every(isLoopback))
    return refused(`port ${portOf(url)} is allowed on loopback only`);
  // Agents listen on IPv4 by default, and only one address is tried.
  const address = found.addresses.find((one) => isIP(one) === 4) ?? found.addresses[0];
  return address === undefined
    ? refused('the name has no address')
    : { kind: 'allowed', checked: { url, address } };
}

const refused = (error: string) => ({ kind: 'refused', error }) as const;

async function addressesOf(url: URL, resolve: Lookup) {
  const host = bareHost(url.hostname);
  if (isIP(host) !== 0) return { kind: 'found', addresses: [host] } as const;
  try {
    return { kind: 'found', addresses: await resolve(host) } as const;
  } catch (error) {
    if (isExhausted(error)) return { kind: 'exhausted' } as const;
    const isUnknown = codeOf(error) === 'ENOTFOUND';
    return refused(isUnknown ? 'name not found' : 'the name could not be resolved');
  }
}
