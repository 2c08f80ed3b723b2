import { z } from 'zod';

/** Passed as an argument instead of a global clock, so that tests control time. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch, for timestamps. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  ticks(): number;
  /** Calls `fn` once after `ms`; the returned function cancels it. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  ticks: performance.now.bind(performance),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};

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
 * Milliseconds from `now` to a deadline; 0 once it is over. It is over as soon as either clock says so: ticks stop
 * while the machine sleeps, and the wall clock may be set back. A clock set forward ends it early, which costs one
 * probe; requiring both clocks would exclude an upstream while one of them is wrong.
 */
export function remainingMs(deadline: DualTime, now: DualTime): number {
  return Math.max(0, Math.min(deadline.ticks - now.ticks, deadline.wallMs - now.wallMs));
}

/** The wall clock counts whole milliseconds and is slewed; only a larger difference is a clock set back. */
const SLACK_MS = 1000;

/** The wall-clock time at which a deadline ends: its own, unless the clock has been set back since. */
export function endsAtMs(deadline: DualTime, now: DualTime): number {
  const byTicksMs = now.wallMs + remainingMs(deadline, now);
  return deadline.wallMs > byTicksMs + SLACK_MS ? byTicksMs : deadline.wallMs;
}

/** The part of `AbortSignal` that this program uses; every `AbortSignal` is a `CancelSignal`. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(event: 'abort', listener: () => void): void;
  removeEventListener(event: 'abort', listener: () => void): void;
}

/** An `AbortController` and its signal in one object, at a seventh of the cost; each request has one. */
export class Cancellation implements CancelSignal {
  aborted = false;
  #listeners: readonly (() => void)[] = [];

  addEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  /** A listener that an earlier listener removes is not called. */
  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners) if (this.#listeners.includes(listener)) listener();
    this.#listeners = [];
  }
}

/** Resolves to true after `ms`, to false as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal: CancelSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (slept: boolean) => {
      cancel();
      signal.removeEventListener('abort', onAbort);
      resolve(slept);
    };
    const onAbort = () => settle(false);
    const wake = () => settle(true);
    const cancel = clock.after(ms, wake);
    signal.addEventListener('abort', onAbort);
  });
}

/** Milliseconds since the epoch of an HTTP date (RFC 9110, 5.6.7); null for other texts. */
export function parseHttpDate(text: string): number | null {
  if (!/^\w{3},? .*\d\d:\d\d:\d\d/.test(text.trim())) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** Milliseconds since the epoch of an ISO 8601 time; NaN for other texts. */
export function isoMs(text: string): number {
  return Date.parse(text);
}

/** ISO 8601 in UTC, from milliseconds since the epoch. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** When the local day of `ms` began, plus `offset` days, in milliseconds since the epoch. */
export function dayOf(ms: number, offset = 0): number {
  const date = new Date(ms);
  date.setHours(0, 0, 0, 0);
  return date.setDate(date.getDate() + offset);
}

/** When the local month of `ms` began, in milliseconds since the epoch. */
export function monthOf(ms: number): number {
  return new Date(dayOf(ms)).setDate(1);
}

/** The last time value of a Date (ECMA-262, 21.4.1.1). */
const LAST_WALL_MS = 8.64e15;

/** Milliseconds since the epoch, as they are saved. */
export const wallMsSchema = z.number().min(0).max(LAST_WALL_MS);
