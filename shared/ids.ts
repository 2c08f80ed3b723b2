export const HOSTED_IDS = ['hosted_a', 'hosted_b', 'hosted_c'] as const;

export type HostedId = (typeof HOSTED_IDS)[number];

/** The upstreams, in routing order. */
export const UPSTREAM_IDS = ['local', ...HOSTED_IDS, 'ondemand'] as const;

export type UpstreamId = (typeof UPSTREAM_IDS)[number];

export function isUpstreamId(id: string): id is UpstreamId {
  return (UPSTREAM_IDS as readonly string[]).includes(id);
}

export function isHostedId(id: unknown): id is HostedId {
  return HOSTED_IDS.some((each) => each === id);
}

/** docs/contributing/agent-protocol.md#identity */
export const PROVIDER_PREFIX = 'prv_';

/** A map with one entry per upstream. */
export function mapUpstreams<T>(make: (id: UpstreamId) => T): Record<UpstreamId, T> {
  // Every id of the list becomes a key, which fromEntries cannot tell the compiler.
  return Object.fromEntries(UPSTREAM_IDS.map((id) => [id, make(id)])) as Record<UpstreamId, T>;
}

/** Display names of machines by id: the owner's name, or else the host name. */
export type MachineNames = Readonly<Record<string, string>>;
