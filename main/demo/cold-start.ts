/** An engine that is switched off when nobody uses it and takes a while to come back. */
export interface ColdStart {
  /** Whether it answers; asking starts it. */
  isUp(): boolean;
}

const START_MS = 12_000;
const SLEEP_AFTER_MS = 120_000;

/** Makes one; an engine that is not `cold` is always up. */
export function createColdStart(cold: boolean): ColdStart {
  let startedAt: number | null = null;
  let askedAt = 0;
  return {
    isUp() {
      const now = performance.now();
      if (startedAt === null || now - askedAt > SLEEP_AFTER_MS) startedAt = now;
      askedAt = now;
      return !cold || now - startedAt >= START_MS;
    },
  };
}
