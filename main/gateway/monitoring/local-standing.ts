import type { LocalStanding, NoProviderCause } from '#shared/condition.ts';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { Circuits, Excluded } from '../circuits/circuits.ts';
import { poolExclusion } from '../routing/local-pool.ts';
import type { LocalChoice } from '../upstream/call.ts';
import { circuitIdOf, localModel, type LocalTarget } from '../upstream/upstreams.ts';
import { NO_REQUEST } from './status.ts';

/* What the status report does not say of the upstreams, for the judgement. */

export function localStanding(
  choice: LocalChoice,
  {
    circuits,
    absence,
  }: { readonly circuits: Circuits; readonly absence: () => NoProviderCause | null },
): LocalStanding {
  switch (choice.kind) {
    case 'none':
      return { kind: 'absent', cause: absence() };
    case 'target':
      return { kind: 'present', hindrance: null };
    case 'tier': {
      const { targets } = choice;
      const exclusionOf = (target: LocalTarget) => machineExclusion(target, circuits);
      if (targets.some((target) => exclusionOf(target) === null))
        return { kind: 'present', hindrance: null };
      const { reason, waitMs } = poolExclusion(targets, exclusionOf);
      return { kind: 'present', hindrance: { reason, waitMs: waitMs ?? 0 } };
    }
  }
}

/** What keeps a request that names no model from a machine now; null: nothing. */
export function machineExclusion(target: LocalTarget, circuits: Circuits): Excluded | null {
  return circuits.exclusionOf(circuitIdOf(target), localModel(target, NO_REQUEST) ?? '');
}

/** The upstreams whose probe is running. */
export function probingIn(circuits: Circuits): ReadonlySet<string> {
  return new Set(UPSTREAM_IDS.filter((id) => circuits.at(id).breaker.state.kind === 'probing'));
}
