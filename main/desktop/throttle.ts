export interface Throttle {
  request(): void;
  stop(): void;
}

/** Runs `act` at once, then at most once per interval; requests in between share one run at its end. */
export function createThrottle(intervalMs: number, act: () => void): Throttle {
  let timer: NodeJS.Timeout | null = null;
  let isRequested = false;

  function run(): void {
    isRequested = false;
    timer = setTimeout(() => {
      timer = null;
      if (isRequested) run();
    }, intervalMs);
    act();
  }

  return {
    request() {
      if (timer === null) run();
      else isRequested = true;
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      isRequested = false;
    },
  };
}
