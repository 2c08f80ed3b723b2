/** Something about this machine that is asked for now and then, never twice at a time. */
export interface Sense<T> {
  /** As last answered: null where the machine does not tell, undefined before the first answer. */
  last(): T | null | undefined;
  /** Asks, unless it does already. */
  look(): void;
}

/** Makes it; `heard` hears of each answer until `signal` aborts. */
export function createSense<T>(
  ask: (signal: AbortSignal) => Promise<T | null>,
  signal: AbortSignal,
  heard: () => void,
): Sense<T> {
  let last: T | null | undefined;
  let isAsking = false;

  async function look(): Promise<void> {
    isAsking = true;
    const answer = await ask(signal);
    isAsking = false;
    if (signal.aborted) return;
    last = answer;
    heard();
  }

  return {
    last: () => last,
    look() {
      if (!isAsking && !signal.aborted) void look();
    },
  };
}
