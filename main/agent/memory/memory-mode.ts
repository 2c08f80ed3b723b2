import { assertNever } from '#shared/assert.ts';
import type { OwnerMode } from '../availability/availability.ts';
import type { MemoryState } from './memory-state.ts';

/** How the machine serves, given what its owner wants and what is done with its memory. */
export function modeWithMemory(owner: OwnerMode, memory: MemoryState, inFlight: number): OwnerMode {
  if (memory.kind === 'kept') return owner;
  const closed = inFlight > 0 ? 'draining' : 'paused';
  return {
    mode: owner.mode === 'on' ? closed : owner.mode,
    reasons: [...owner.reasons, sayingOf(memory)],
  };
}

function sayingOf(memory: Exclude<MemoryState, { readonly kind: 'kept' }>): string {
  switch (memory.kind) {
    case 'freeing':
      return 'Its models are being unloaded.';
    case 'freed':
      return 'Its models are loaded again before requests return.';
    case 'loading':
      return `Loads ${memory.model}; requests return when that is done.`;
    case 'unloading':
      return `Unloads ${memory.model}.`;
    default:
      return assertNever(memory, 'memory state');
  }
}
