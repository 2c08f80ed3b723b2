import type { CircuitsDeps } from '../../main/gateway/circuits/circuits.ts';

/** For circuits that no window shows and no file keeps. */
export const UNWATCHED: Pick<CircuitsDeps, 'watchers' | 'unsaved'> = {
  watchers: { isWatched: false, changed() {} },
  unsaved() {},
};
