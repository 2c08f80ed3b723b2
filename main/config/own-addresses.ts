import { hostname, networkInterfaces } from 'node:os';
import { isLoopbackHost } from '../platform/http/server.ts';
import { canonicalIp, portOf } from '../platform/network-guard.ts';
import { type Config, ENTRIES, type Entry, ENV_PREFIX, valueAt } from './schema.ts';

export interface OwnAddress {
  /** Of the setting, as in `local.baseUrl`. */
  readonly path: string;
  readonly message: string;
}

/** The upstreams whose address is this gateway's own: each request would call itself again. */
export function ownAddresses(config: Config, isOwnHost = isThisMachine): readonly OwnAddress[] {
  const { gateway, agent } = config;
  return ENTRIES.flatMap((entry) => {
    const url = upstreamUrl(entry, config);
    if (url === null || !isOwnHost(url.hostname)) return [];
    const port = portOf(url);
    // The agent's engine behind the agent's own port would be a loop as well.
    const isAgentLoop = entry.path === 'agent.engineUrl' && agent.ports.includes(port);
    if (port !== gateway.port && !isAgentLoop) return [];
    const part = isAgentLoop ? 'agent' : 'gateway';
    const message = `${ENV_PREFIX}${entry.setting.env} is "${url.host}", the address of this ${part} itself: requests would come back to it; set it to the address of the engine`;
    return [{ path: entry.path, message }];
  });
}

/** Null for other settings, and for one that is not set. */
function upstreamUrl(entry: Entry, config: Config): URL | null {
  // A machine may report to the gateway in its own process.
  if (entry.setting.kind.name !== 'address' || entry.path === 'agent.registryUrl') return null;
  const value = valueAt(config, entry);
  return typeof value === 'string' ? URL.parse(value) : null;
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (isLoopbackHost(name) || name === '0.0.0.0' || name === '::') return true;
  if (name === hostname().toLowerCase()) return true;
  const ip = canonicalIp(name);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return ip !== null && own.some(({ address }) => canonicalIp(address) === ip);
}
