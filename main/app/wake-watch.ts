import type { Clock } from '../platform/clock.ts';
import { outsideAddresses } from '../platform/http/addresses.ts';

const INTERVAL_MS = 5000;
/** By the wall clock, a look is later than this only after a suspend, or when the time is set. */
const MAX_LATE_MS = 5000;

/** Detects what not every system reports: that this machine has slept, or is in another network. */
export function createWakeWatch(clock: Clock, woken: () => void) {
  let cancelTimer = () => {};
  let lookedMs = clock.now();
  let network = networkNow();

  /** `isTold`: the system reports it. */
  function look(isTold: boolean): void {
    const before = { dueMs: lookedMs + INTERVAL_MS, network };
    [lookedMs, network] = [clock.now(), networkNow()];
    cancelTimer();
    cancelTimer = clock.after(INTERVAL_MS, () => look(false));
    const hasSlept = isTold || Math.abs(lookedMs - before.dueMs) > MAX_LATE_MS;
    if (hasSlept || network !== before.network) woken();
  }

  return { look, stop: () => cancelTimer() };
}

const networkNow = () => JSON.stringify(outsideAddresses());
