import type { StandingKind } from './provider-standing.ts';

/** In the order of the list: what needs attention comes first. */
export const PROVIDER_GROUPS = ['attention', 'arriving', 'ready', 'resting'] as const;

export type ProviderGroup = (typeof PROVIDER_GROUPS)[number];

export const PROVIDER_FILTERS = ['all', ...PROVIDER_GROUPS] as const;

export type ProviderFilter = (typeof PROVIDER_FILTERS)[number];

/** Each standing's group; within a group they keep this order. */
const GROUP_OF: Readonly<Record<StandingKind, ProviderGroup>> = {
  'engine-down': 'attention',
  unreachable: 'attention',
  'check-failed': 'attention',
  silent: 'attention',
  resting: 'attention',
  wavering: 'attention',
  verifying: 'arriving',
  loading: 'arriving',
  pending: 'arriving',
  direct: 'ready',
  // Not told apart by place: machines would change theirs with every request.
  serving: 'ready',
  idle: 'ready',
  draining: 'resting',
  paused: 'resting',
  stopped: 'resting',
};

const ORDER = Object.keys(GROUP_OF);

/** The group of a standing. */
export function groupOf(kind: StandingKind): ProviderGroup {
  return GROUP_OF[kind];
}

/** Place of a standing within its group. */
export function rankOf(kind: StandingKind): number {
  return kind === 'idle' ? rankOf('serving') : ORDER.indexOf(kind);
}
