import { ENGINE_PORTS, pinnedAddress } from './addresses.ts';
import type { EngineAddress } from './ask.ts';

/** Where an agent finds its engine. */
export interface EnginePlace {
  /** The engine that its owner has set: then no other is looked for. */
  readonly pinned: EngineAddress | null;
  /** Where one is looked for while none is set. */
  readonly ports: readonly number[];
  /** What is wrong with the address in the settings, and what to write instead; null where it can be used. */
  readonly fault: string | null;
}

/** Reads the engine URL of the settings; null stands for the usual ports of engines. */
export function enginePlace(url: string | null, ports = ENGINE_PORTS): EnginePlace {
  if (url === null) return { pinned: null, ports, fault: null };
  const read = pinnedAddress(url, null);
  if (read.kind === 'address') return { pinned: read.address, ports, fault: null };
  // An address that its owner has set wrong must not lead to serving some other engine.
  return { pinned: null, ports: [], fault: read.message };
}
