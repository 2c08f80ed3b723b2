import type { EngineAddress } from '../../engines/adapters/probe.ts';
import { ENGINE_PORTS } from '../../engines/detect.ts';
import type { Config } from '../../config/schema.ts';
import { userinfoOf } from '../../platform/addresses.ts';

/** Both loopback addresses: a server on `localhost` may have bound only one of them. */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]'];

/**
 * For each port, the addresses at which an engine of this machine may listen. Our own ports are left out, because this
 * program answers like an engine.
 */
export function localAddresses(
  ports: readonly number[],
  ownPorts: readonly number[],
): readonly (readonly EngineAddress[])[] {
  return ports
    .filter((port) => !ownPorts.includes(port))
    .map((port) =>
      LOOPBACK_HOSTS.map((host) => ({
        origin: `http://${host}:${port}`,
        basePath: '',
        authorization: null,
      })),
    );
}

/** An engine address that the owner has set. */
type PinnedAddress =
  | { readonly kind: 'address'; readonly address: EngineAddress }
  /** `message` names the mistake and the fix; it never repeats the URL, which may contain a key. */
  | { readonly kind: 'invalid'; readonly message: string };

const EXAMPLE = 'Write it like http://127.0.0.1:8000.';

/** Parses an engine's URL, with or without `/v1` at its end; `apiKey` is sent as a bearer token. */
export function pinnedAddress(url: string, apiKey: string | null): PinnedAddress {
  if (!URL.canParse(url)) return invalid('The engine URL is not a URL.');
  const parsed = new URL(url);
  const { protocol, origin, pathname, search, hash } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    return invalid('The engine URL must begin with http:// or https://.');
  }
  if (search !== '' || hash !== '')
    return invalid('The engine URL may have no query and no fragment.');
  const userinfo = userinfoOf(parsed);
  if (userinfo.kind === 'undecodable') {
    return invalid('A "%" in the user name or password of the engine URL must be written as %25.');
  }
  const basePath = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  const basic = userinfo.kind === 'credentials' ? userinfo.authorization : null;
  const authorization = apiKey === null ? basic : `Bearer ${apiKey}`;
  return { kind: 'address', address: { origin, basePath, authorization } };
}

function invalid(message: string): PinnedAddress {
  return { kind: 'invalid', message: `${message} ${EXAMPLE}` };
}

/** Where the agent searches for its engine. */
export interface EnginePlace {
  /** Set by the owner; then no other is searched for. */
  readonly pinned: EngineAddress | null;
  /** Ports to search if no engine is set. */
  readonly ports: readonly number[];
  /** Why the address in the settings cannot be used, and the fix; null if it can. */
  readonly fault: string | null;
}

/**
 * Without an address in the settings, the default ports are searched. The key is sent only to that address: any program
 * may listen on a port that was found by searching.
 */
export function enginePlace(
  { engineUrl: url, engineApiKey: apiKey }: Pick<Config['agent'], 'engineUrl' | 'engineApiKey'>,
  ports = ENGINE_PORTS,
): EnginePlace {
  if (url === null) return { pinned: null, ports, fault: null };
  const read = pinnedAddress(url, apiKey);
  if (read.kind === 'address') return { pinned: read.address, ports, fault: null };
  // A wrong address must not make the agent serve another engine.
  return { pinned: null, ports: [], fault: read.message };
}
