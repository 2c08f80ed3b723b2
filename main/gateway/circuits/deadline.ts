import type { Clock } from '../../platform/clock.ts';

/** A moment on both clocks: elapsed time is measured on both, and wall-clock time is shown. */
export interface DualTime {
  /** Monotonic milliseconds; they mean nothing to another process. */
  readonly ticks: number;
  /** Wall-clock milliseconds since the epoch. */
  readonly wallMs: number;
}

export function dualTimeOf(clock: Clock): DualTime {
  return { ticks: clock.ticks(), wallMs: clock.now() };
}

export function later(now: DualTime, ms: number): DualTime {
  return { ticks: now.ticks + ms, wallMs: now.wallMs + ms };
}

/**
 * Milliseconds from `now` to a deadline, negative once it is over. It is over as soon as either clock says
 * so: ticks stop while the machine sleeps, and the wall clock may be set back. A clock set forward ends it
 * early, which costs one probe; requiring both clocks would exclude an upstream while one of them is wrong.
 */
export function untilMs(deadline: DualTime, now: DualTime): number {
  return Math.min(deadline.ticks - now.ticks, deadline.wallMs - now.wallMs);
}

/** As `untilMs`, but 0 once it is over. */
export function remainingMs(deadline: DualTime, now: DualTime): number {
  return Math.max(0, untilMs(deadline, now));
}

/** The wall clock counts whole milliseconds and is slewed; only a larger difference is a clock set back. */
const SLACK_MS = 1000;

/** The wall-clock time at which a deadline ends: its own, unless the clock has been set back since. */
export function endsAtMs(deadline: DualTime, now: DualTime): number {
  const byTicksMs = now.wallMs + remainingMs(deadline, now);
  return deadline.wallMs > byTicksMs + SLACK_MS ? byTicksMs : deadline.wallMs;
}
