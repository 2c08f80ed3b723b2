import type { EngineAddress } from './ask.ts';
import { ENGINES } from './detect.ts';

/** The ports on which engines listen unless they are told otherwise. */
export const ENGINE_PORTS: readonly number[] = [...new Set(ENGINES.flatMap(({ ports }) => ports))];

/** Both loopback addresses: what listens on `localhost` may have only one of them. */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]'];

/**
 * Where an engine may be on this machine: for each port the addresses to try in turn. Our own ports are
 * left out, for we answer like an engine.
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

/** An engine whose address its owner has set. */
export type PinnedAddress =
  | { readonly kind: 'address'; readonly address: EngineAddress }
  /** `message` names the fault and what to write instead; it never repeats the URL, which may hold a key. */
  | { readonly kind: 'invalid'; readonly message: string };

const EXAMPLE = 'Write it as in http://127.0.0.1:8000.';

/** Reads the URL of an engine, with or without `/v1` at its end; `apiKey` is sent as bearer. */
export function pinnedAddress(url: string, apiKey: string | null): PinnedAddress {
  if (!URL.canParse(url)) return invalid('The engine URL is not a URL.');
  const { protocol, origin, pathname, username, password, search, hash } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') {
    return invalid('The engine URL must begin with http:// or https://.');
  }
  if (search !== '' || hash !== '')
    return invalid('The engine URL may have no query and no fragment.');
  const basePath = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return { kind: 'address', address: { origin, basePath, authorization: credentials() } };

  function credentials(): string | null {
    if (apiKey !== null) return `Bearer ${apiKey}`;
    if (username === '' && password === '') return null;
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  }
}

function invalid(message: string): PinnedAddress {
  return { kind: 'invalid', message: `${message} ${EXAMPLE}` };
}
