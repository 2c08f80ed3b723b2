import { z } from 'zod';

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
