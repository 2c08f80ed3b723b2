/** Waits for what is only there later; code that changes something awaited calls `look`. */
export interface Looks {
  readonly look: () => void;
  /** Resolves with the first result of `found` that is not undefined: now, or at a later look. */
  readonly until: <T>(found: () => T | undefined) => Promise<T>;
}

/** Nothing is waited for yet. */
export function createLooks(): Looks {
  const waiting = new Set<() => void>();
  return {
    look() {
      for (const tryIt of waiting) tryIt();
    },
    until: (found) =>
      new Promise((resolve) => {
        const tryIt = () => {
          const result = found();
          if (result === undefined) return;
          waiting.delete(tryIt);
          resolve(result);
        };
        waiting.add(tryIt);
        tryIt();
      }),
  };
}

/** Resolves once `isSo`. */
export const untilSo = async ({ until }: Looks, isSo: () => boolean): Promise<void> =>
  void (await until(() => isSo() || undefined));
