import { PROVIDER_PREFIX } from '#shared/ids.ts';
import type { Prefixes } from '../gateway/routing/prefixes.ts';
import { MAX_PREFIXES, type SharedPrefix } from './protocol.ts';

export type SharedPrefixes = ReturnType<typeof createSharedPrefixes>;

/** What machines have read, from all gateways together. The others are told at the next exchange, of the latest prompts. */
export function createSharedPrefixes(own: Prefixes, isKnown: (id: string) => boolean) {
  let untold: SharedPrefix[] = [];
  const prefixes: Prefixes = {
    ...own,
    read(id, prompt) {
      const inShort = own.read(id, prompt);
      if (id.startsWith(PROVIDER_PREFIX)) {
        if (untold.length === MAX_PREFIXES) untold.shift();
        untold.push({ machine: id, ...inShort });
      }
      return inShort;
    },
  };
  return {
    prefixes,
    /** Once: if the database is away, a prompt is read again at worst. */
    outgoing: (): readonly SharedPrefix[] => {
      const told = untold;
      untold = [];
      return told;
    },
    received: (told: readonly SharedPrefix[]): void => {
      for (const { machine, ...prompt } of told) if (isKnown(machine)) own.read(machine, prompt);
    },
  };
}
