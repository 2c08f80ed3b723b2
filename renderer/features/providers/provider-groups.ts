import type { StandingKind } from './provider-standing.ts';

/** The groups in the order of the list: those that need attention first. */
export const PROVIDER_GROUPS = ['attention', 'arriving', 'ready', 'resting'] as const;

export type ProviderGroup = (typeof PROVIDER_GROUPS)[number];

export const PROVIDER_FILTERS = ['all', ...PROVIDER_GROUPS] as const;

export type ProviderFilter = (typeof PROVIDER_FILTERS)[number];

/** The group of each standing; also the order within a group. */
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
  // Ranked like `idle`, see rankOf: otherwise machines would change places with every request.
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
