import type { KeyRefusals } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';

const WITHIN_MS = 3_600_000;
/** More are counted as so many. */
const MAX_TIMES = 1000;

/** Counts the requests of the last hour that came with a wrong key or none; nothing of the key is kept. */
export function createKeyRefusals(clock: Clock, changed: () => void) {
  /** In wall-clock milliseconds, oldest first. */
  let times: readonly number[] = [];
  let lastAddress: string | null = null;
  const recent = () => times.filter((at) => at > clock.now() - WITHIN_MS);
  return {
    refused: (address: string | null): void => {
      times = [...recent(), clock.now()].slice(-MAX_TIMES);
      lastAddress = address;
      changed();
    },
    /** Null if there are none. */
    view: (): KeyRefusals | null => {
      const all = recent();
      const lastAt = all.at(-1);
      return lastAt === undefined ? null : { count: all.length, lastAt, lastAddress };
    },
  };
}
