import type { ManualClock } from './clock.ts';

/** Pause between two polls of a machine that is starting, in milliseconds. */
const [SHORTEST, LONGEST] = [1000, 5000];
/** What `sleep` sets its timer to, unlike the probe of an engine that is down. */
const POLL = 'wake';

/** Resolves when the gateway has begun a pause between two polls, with its length. */
export function nextPause(clock: ManualClock): Promise<number> {
  return clock.timer(SHORTEST, LONGEST, POLL);
}

/** Moves the clock from poll to poll until `done` resolves; gives the pauses. */
export async function pollUntil(done: Promise<unknown>, clock: ManualClock): Promise<number[]> {
  const pauses: number[] = [];
  for (;;) {
    const pause = await Promise.race([nextPause(clock), done.then(() => null)]);
    if (pause === null) return pauses;
    pauses.push(pause);
    clock.advance(pause);
  }
}
