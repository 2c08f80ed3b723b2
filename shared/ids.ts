/** The upstreams, in routing order (interface 1). */
export const UPSTREAM_IDS = ['local', 'hosted_a', 'hosted_b', 'hosted_c', 'ondemand'] as const;

export type UpstreamId = (typeof UPSTREAM_IDS)[number];

export const HOSTED_IDS = ['hosted_a', 'hosted_b', 'hosted_c'] as const;

export type HostedId = (typeof HOSTED_IDS)[number];
