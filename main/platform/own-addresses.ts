import { networkInterfaces } from 'node:os';

/** An address of this machine at which others may reach it, IPv4 before IPv6; null when it has none. */
export function outsideAddress(): string | null {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // A link-local IPv6 address says nothing without the interface it belongs to.
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80'));
  const preferred = outside.find(({ family }) => family === 'IPv4') ?? outside[0];
  return preferred?.address ?? null;
}
