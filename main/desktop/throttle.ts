/** Runs `act` at once and then at most once per interval; what came meanwhile is one late run. */
export interface Throttle {
  request(): void;
  stop(): void;
}

/** Makes a throttle around `act`. */
export function createThrottle(intervalMs: number, act: () => void): Throttle {
  let timer: NodeJS.Timeout | null = null;
  let wanted = false;

  function run(): void {
    wanted = false;
    timer = setTimeout(() => {
      timer = null;
      if (wanted) run();
    }, intervalMs);
    act();
  }

  return {
    request() {
      if (timer === null) run();
      else wanted = true;
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      wanted = false;
    },
  };
}
