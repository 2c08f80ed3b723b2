import type { CircuitsDeps } from '../../main/gateway/circuits/circuits.ts';

/** For circuits that no window shows and no file keeps. */
export const UNWATCHED: Pick<CircuitsDeps, 'changed' | 'unsaved'> = {
  changed() {},
  unsaved() {},
};
