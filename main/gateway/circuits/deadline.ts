import type { Clock } from '../../platform/clock.ts';

/** A moment on both clocks: what has passed is measured on both, what is shown is wall-clock time. */
export interface DualTime {
  /** Monotonic milliseconds; they mean nothing to another process. */
  readonly ticks: number;
  /** Wall-clock milliseconds since the epoch. */
  readonly wallMs: number;
}

/** The present moment of a clock. */
export function dualTimeOf(clock: Clock): DualTime {
  return { ticks: clock.ticks(), wallMs: clock.now() };
}

/** The moment `ms` after `now`. */
export function later(now: DualTime, ms: number): DualTime {
  return { ticks: now.ticks + ms, wallMs: now.wallMs + ms };
}

/**
 * Milliseconds from `now` to a deadline, negative once it is over. It is over as soon as either
 * clock says so: ticks stand still while the machine sleeps, and the wall clock may be set back.
 * Set forward, it ends a deadline early, which costs one probe; the other way round an upstream
 * would stay out for as long as the clock was wrong.
 */
export function untilMs(deadline: DualTime, now: DualTime): number {
  return Math.min(deadline.ticks - now.ticks, deadline.wallMs - now.wallMs);
}

/** Milliseconds that a deadline is still away, 0 once it is over. */
export function remainingMs(deadline: DualTime, now: DualTime): number {
  return Math.max(0, untilMs(deadline, now));
}

/** The wall clock counts whole milliseconds and is slewed; only a difference beyond this is a clock set back. */
const SLACK_MS = 1000;

/** The wall-clock time at which a deadline ends: its own, unless the clock has been set back since. */
export function endsAtMs(deadline: DualTime, now: DualTime): number {
  const byTicksMs = now.wallMs + remainingMs(deadline, now);
  return deadline.wallMs > byTicksMs + SLACK_MS ? byTicksMs : deadline.wallMs;
}
