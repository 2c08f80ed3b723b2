import { networkInterfaces } from 'node:os';
import { isLoopbackHost, outsideHost, urlHost } from '../platform/http/addresses.ts';
import { bareHost, canonicalIp } from '../platform/network-guard.ts';
import type { Tailnet } from './telemetry/telemetry.ts';

/** The addresses of this machine's network interfaces, sorted, loopback included. */
export function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .map(({ address }) => address)
    .toSorted();
}

/** URL at which others reach the agent; empty while it does not listen. */
export function agentUrl(host: string, port: number | null): string {
  return port === null ? '' : `http://${urlHost(outsideHost(host))}:${port}`;
}

/** All names that are accepted in a `Host` header. */
export function namesOf(
  hostname: string,
  tailnet: Tailnet | null,
  more: readonly string[],
): readonly string[] {
  const ownNames = [hostname, `${hostname}.local`];
  if (tailnet === null) return [...ownNames, ...more];
  const [label = ''] = tailnet.hostname.split('.');
  return [...ownNames, tailnet.hostname, label, tailnet.ip, ...more];
}

/** The name of this machine in containers (docs.docker.com/desktop/features/networking). */
const DOCKER_HOST = 'host.docker.internal';

/** Whether an origin is a port of this machine, whichever of its `names` it uses. */
export function isOnThisMachine(origin: string, names: () => readonly string[]): boolean {
  const bare = bareHost(new URL(origin).hostname);
  const host = canonicalIp(bare) ?? bare;
  return (
    isLoopbackHost(host) || [...names(), DOCKER_HOST].some((name) => name.toLowerCase() === host)
  );
}
