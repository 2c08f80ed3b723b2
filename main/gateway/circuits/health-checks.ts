import { PROVIDER_PREFIX } from '#shared/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Circuits, Opening } from './circuits.ts';
import { dualTimeOf, remainingMs } from './deadline.ts';

/** Looks at those whose circuit is open, so that nobody waits for a clock when they are well again. */
export interface Looks {
  /** A circuit has opened, or its probe has failed. */
  opened(id: string, how: Opening): void;
  /** Takes up those that an earlier run left open. */
  start(): void;
  stop(): void;
}

/** What the looks are given. */
export interface LooksDeps {
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly isOn: () => boolean;
  /** A cheap look, never a completion: whether it answers; null where there is nothing to look at. */
  readonly look: (id: string) => Promise<boolean> | null;
}

/** The first look after an opening or a failed probe: so there is at most one probe in this time. */
const FIRST_MS = 15_000;
const PACE_MS = 5000;
/** Who has been out for so long is looked at less often. */
const LONG_OUT_MS = 600_000;
const LONG_OUT_PACE_MS = 15_000;
/** A tier may have thousands of machines: so many are looked at at once, the others a little later. */
const MOST_AT_ONCE = 16;
const CROWDED_MS = 1000;

interface Watched {
  /** When it opened, and when it last did so or its probe last failed; in clock ticks. */
  readonly sinceTicks: number;
  heardTicks: number;
  /** It hung while it answered looks, or before there was any: until one fails they say nothing. */
  isDoubted: boolean;
  /** What the last look saw; null before the first. */
  answered: boolean | null;
  /** Which of its turns is the present one: what comes of an earlier one is dropped. */
  turn: number;
  cancelTimer: () => void;
}

const isMachine = (id: string): boolean => id.startsWith(PROVIDER_PREFIX);

function newlyOpened(ticks: number, wasSilent: boolean): Watched {
  return {
    sinceTicks: ticks,
    heardTicks: ticks,
    isDoubted: wasSilent,
    answered: null,
    turn: 0,
    cancelTimer() {},
  };
}

function paceMs({ sinceTicks }: Watched, nowTicks: number): number {
  return nowTicks - sinceTicks >= LONG_OUT_MS ? LONG_OUT_PACE_MS : PACE_MS;
}

/** Makes them; a look that succeeds ends the cool-down, and the next request is the probe. */
export function createHealthChecks({ clock, circuits, isOn, look }: LooksDeps): Looks {
  const all = new Map<string, Watched>();
  let running = 0;
  let isStopped = false;

  function wait(id: string, watched: Watched, ms: number): void {
    watched.cancelTimer();
    watched.turn += 1;
    if (!isStopped) watched.cancelTimer = clock.after(ms, () => void take(id, watched));
  }

  async function take(id: string, watched: Watched): Promise<void> {
    const { state } = circuits.at(id).breaker;
    if (state.kind === 'closed') {
      all.delete(id);
      return;
    }
    // The next request is the probe: what comes of it is heard of.
    if (state.kind === 'open' && remainingMs(state.until, dualTimeOf(clock)) === 0) return;
    if (running >= MOST_AT_ONCE && isMachine(id)) {
      wait(id, watched, CROWDED_MS);
      return;
    }
    const { turn } = watched;
    const begunTicks = clock.ticks();
    const answers = state.kind === 'open' && isOn() ? await lookAt(id) : null;
    if (watched.turn !== turn || all.get(id) !== watched) return;
    if (answers !== null) watched.answered = answers;
    if (answers === false) watched.isDoubted = false;
    if (answers === true && !watched.isDoubted) endCooldown(id);
    wait(id, watched, Math.max(0, paceMs(watched, begunTicks) - (clock.ticks() - begunTicks)));
  }

  async function lookAt(id: string): Promise<boolean | null> {
    const seen = look(id);
    if (seen === null) return null;
    running += 1;
    try {
      return await seen;
    } finally {
      running -= 1;
    }
  }

  function endCooldown(id: string): void {
    circuits.coolDown(id);
    // The tier opens where all of its machines fail: one that is well again opens it for them.
    const tier = all.get('local');
    if (!isMachine(id) || tier === undefined || tier.isDoubted) return;
    if (clock.ticks() - tier.heardTicks >= FIRST_MS) circuits.coolDown('local');
  }

  function watch(id: string, wasSilent: boolean): void {
    all.get(id)?.cancelTimer();
    const watched = newlyOpened(clock.ticks(), wasSilent);
    all.set(id, watched);
    wait(id, watched, FIRST_MS);
  }

  return {
    opened(id, { isFirst, wasSilent }) {
      const watched = all.get(id);
      if (isFirst || watched === undefined) {
        watch(id, wasSilent);
        return;
      }
      watched.heardTicks = clock.ticks();
      watched.isDoubted = wasSilent && watched.answered !== false;
      wait(id, watched, FIRST_MS);
    },
    start() {
      for (const id of circuits.ids()) {
        if (circuits.at(id).breaker.state.kind === 'open') watch(id, false);
      }
    },
    stop() {
      isStopped = true;
      for (const { cancelTimer } of all.values()) cancelTimer();
      all.clear();
    },
  };
}
