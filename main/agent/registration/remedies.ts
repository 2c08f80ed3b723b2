import type { LinkFailure } from './link.ts';

/** Human-readable. A null remedy: there is nothing to do but wait. */
export interface LinkProblem {
  readonly happened: string;
  readonly remedy: string | null;
}

export function linkProblemOf(failure: LinkFailure): LinkProblem {
  return { happened: failure.message, remedy: remedyFor(failure) };
}

function remedyFor(failure: LinkFailure): string | null {
  switch (failure.kind) {
    case 'unknown_provider':
      return 'Join it again: on the gateway choose "Add a machine" and run the line that it shows on this machine.';
    case 'sequence_reused':
      return "Another machine may use a copy of this agent's key. Delete the file agent-key.pem of one of them and join that one again.";
    case 'clock_skew':
      return "Set this machine's clock, or turn on time synchronisation.";
    case 'refused':
      return REFUSALS[failure.code] ?? 'Check that both programs have the same version.';
    case 'garbage':
      return 'Check the address of the gateway, and that nothing else listens there.';
    case 'unreachable':
      return 'Check that the gateway runs and that this machine can reach its address.';
    case 'busy':
      return null;
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_token: 'Ask the owner of the gateway for a new line: each works once, for an hour.',
  invalid_signature: 'Delete the file agent-key.pem in the data directory and join again.',
  other_pool:
    'Join this machine again with a new line from a gateway of the pool that it is to belong to.',
  host_not_allowed:
    'Add the name in the address to SWITCHYARD_ALLOWED_HOSTS on the gateway, or join it by its IP address.',
  body_too_large: 'The record of this machine is too large; please report this.',
};
